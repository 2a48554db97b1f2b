// Signing in without leaving the page: a wrong token is said here, and no secret ever stands in an address.
const $ = (id) => document.getElementById(id);

$("door").addEventListener("submit", async (event) => {
  event.preventDefault();
  const wrong = $("wrong");
  wrong.hidden = true;
  try {
    const answer = await fetch("/login", { method: "POST", headers: { "X-Holdfast": "1" }, body: new URLSearchParams(new FormData($("door"))) });
    if (answer.ok) return location.replace("/");
    let words = "This is not the token of this gateway.";
    if (answer.status === 429) words = `Too many tries. Wait ${answer.headers.get("Retry-After") ?? "60"} seconds.`;
    else if (answer.status >= 500) words = "The gateway could not answer just now. Try again.";
    wrong.textContent = words;
  } catch {
    wrong.textContent = "The gateway is away. Try again when it runs.";
  }
  wrong.hidden = false;
  $("token").select();
});
