// Signing in without leaving the page. A link's key stands behind the # of the address, which no server is sent; it
// leaves the address before it is used. The answer's proof goes into this origin's storage.
import { proof } from "./api.js";

const $ = (id) => document.getElementById(id);
const KEY = "#key=";

function say(words) {
  $("wrong").textContent = words;
  $("wrong").hidden = !words;
}

/** Sign in with what the form or the link holds; the words for a person when that fails. */
async function enter(what) {
  let answer;
  try {
    answer = await fetch("/login", { method: "POST", body: new URLSearchParams(what) });
    if (answer.ok) {
      const found = await answer.json();
      proof(found.proof);
      if (proof() !== found.proof) return "This browser keeps nothing for this page. Allow its storage (private windows may not), then sign in again.";
      location.replace("/");
      return "";
    }
  } catch {
    return "The gateway is away. Try again when it runs.";
  }
  if (answer.status === 429) return `Too many tries. Wait ${answer.headers.get("Retry-After") ?? "60"} seconds.`;
  if (answer.status >= 500) return "The gateway could not answer just now. Try again.";
  return "key" in what ? "" : "This is not the token of this gateway.";
}

$("door").addEventListener("submit", async (event) => {
  event.preventDefault();
  say("");
  say(await enter({ token: $("token").value }));
  $("token").select();
});

/** A link that was opened before still leads a browser in that is signed in. */
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
  say(wrong || "This link is not good, or no longer: it works once, for 15 minutes.");
}

addEventListener("hashchange", follow); // a link pasted into a tab that is here already
follow();
