// Signs in without leaving the page. A link carries its key after the #, a part that browsers send to no server; the page
// removes the key from the address before it uses it. The proof from the answer goes into this origin's storage.
import { proof } from "./api.js";

const $ = (id) => document.getElementById(id);
const KEY = "#key=";

function say(words) {
  $("wrong").textContent = words;
  $("wrong").hidden = !words;
}

/** Sign in with the token or the key; returns the error for the person, or an empty text. */
async function enter(what) {
  let answer;
  try {
    answer = await fetch("/login", { method: "POST", body: new URLSearchParams(what) });
    if (answer.ok) {
      const found = await answer.json();
      proof(found.proof);
      if (proof() !== found.proof) return "This browser stores nothing for this page. Allow storage (a private window may block it), then sign in again.";
      location.replace("/");
      return "";
    }
  } catch {
    return "The gateway does not answer. Try again when it runs.";
  }
  if (answer.status === 429) return `Too many tries. Wait ${answer.headers.get("Retry-After") ?? "60"} seconds.`;
  if (answer.status >= 500) return "The gateway could not answer. Try again.";
  return "key" in what ? "" : "This is not the token of this gateway.";
}

$("door").addEventListener("submit", async (event) => {
  event.preventDefault();
  say("");
  say(await enter({ token: $("token").value }));
  $("token").select();
});

/** Whether this browser is already signed in: then even a used link opens the page. */
async function isSignedIn() {
  try {
    return (await fetch("/api/chats?limit=1", { headers: { "X-Holdfast": proof() } })).ok;
  } catch {
    return false;
  }
}

async function follow() {
  if (!location.hash.startsWith(KEY)) return;
  const key = location.hash.slice(KEY.length);
  history.replaceState(null, "", "/login");
  const title = $("title").textContent;
  $("title").textContent = "Signing you in …";
  const wrong = await enter({ key });
  if (wrong === "" && proof() && await isSignedIn()) return location.replace("/");
  $("title").textContent = wrong ? title : "Not signed in";
  say(wrong || "This link is not valid: it works once, for 15 minutes.");
}

addEventListener("hashchange", follow); // a link pasted into an open tab
follow();
