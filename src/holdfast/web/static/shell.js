// Shared by all pages: colours, sign-out, a confirmation dialog, and short messages.
import { signOut } from "./api.js";

const $ = (id) => document.getElementById(id);
const LASTS = 6000;

/** Ask for confirmation before an action that cannot be undone; Escape means no. */
export function confirmed(title, text, yes) {
  const box = $("ask");
  $("ask-title").textContent = title;
  $("ask-text").textContent = text;
  $("ask-yes").textContent = yes;
  box.returnValue = "no";
  box.showModal();
  return new Promise((done) => box.addEventListener("close", () => done(box.returnValue === "yes"), { once: true }));
}

let over = 0;

/** Show a message for a while; screen readers announce an error at once. */
export function toast(words, wrong = true) {
  const box = $("toast");
  box.setAttribute("role", wrong ? "alert" : "status");
  box.textContent = words;
  box.hidden = false;
  clearTimeout(over);
  over = setTimeout(() => { box.hidden = true; }, LASTS);
}

function paintTheme() {
  const words = { system: "as the system", light: "light", dark: "dark" };
  $("theme").setAttribute("aria-label", `Colours: ${words[window.holdfastTheme?.now() ?? "system"]}`);
  $("theme").title = $("theme").getAttribute("aria-label");
}
$("theme").addEventListener("click", () => { window.holdfastTheme?.next(); paintTheme(); });
paintTheme();

$("sign-out").addEventListener("click", async () => {
  try {
    await signOut();
  } catch (fault) {
    if (fault.status === undefined) throw fault;
    if (fault.status !== 401) toast(`You are still signed in. ${fault.message}`);
  }
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.querySelector(event.currentTarget.getAttribute("href")).focus();
});
