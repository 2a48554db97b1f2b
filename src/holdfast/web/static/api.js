// Requests to the gateway. A failure carries its code and the gateway's own words.

export class Refused extends Error {
  constructor(status, code, words) {
    super(words);
    this.status = status;
    this.code = code;
  }

  /** Whether the same request may succeed later: the gateway did not answer, or could not take it at the moment. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const AWAY = "The gateway does not answer.";

// The cookie alone is worth nothing: browsers send it to every port of this host. The proof beside it stays in this
// origin's storage, which no other port can read. Each request reads it: another tab may have signed in since.
const PROOF = "holdfast.proof";
let held = ""; // for browsers that store nothing

export function proof(given) {
  if (given !== undefined) held = given;
  try {
    if (given !== undefined) localStorage.setItem(PROOF, given);
    return localStorage.getItem(PROOF) ?? "";
  } catch {
    return held;
  }
}

/** Send a request with the proof. Only a missing answer raises `Refused`, with status 0. */
export async function send(path, { headers = {}, ...options } = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { "X-Holdfast": proof(), ...headers } });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new Refused(0, "away", AWAY);
  }
  if (answer.status === 401) signIn();
  return answer;
}

export async function ask(method, path, body, headers = {}) {
  const isJson = body !== undefined && !(body instanceof Blob);
  const answer = await send(path, {
    method,
    headers: { ...(isJson ? { "Content-Type": "application/json" } : {}), ...headers },
    body: isJson ? JSON.stringify(body) : body,
  });
  let found;
  try {
    found = await answer.json();
  } catch {
    if (answer.ok) throw new Refused(0, "away", AWAY);
    found = {};
  }
  if (answer.ok) return found;
  throw new Refused(answer.status, found.error?.code ?? "failed", found.error?.words ?? `The gateway answered ${answer.status}.`);
}

export const get = (path) => ask("GET", path);

/** The bytes of a stored file; raises `Refused`. */
export async function bytes(path) {
  const answer = await send(path);
  if (!answer.ok) throw new Refused(answer.status, "failed", answer.status === 404 ? "The gateway no longer has this file." : `The gateway answered ${answer.status}.`);
  try {
    return await answer.blob();
  } catch {
    throw new Refused(0, "away", AWAY);
  }
}

let leaving = false;

/** Go to the sign-in page, once for any number of refused requests. The person's messages wait in the outbox. */
export function signIn() {
  if (!leaving) location.assign("/login");
  leaving = true;
}

/** End this browser's sign-in, here and in the gateway. */
export async function signOut() {
  await ask("POST", "/logout");
  proof("");
  signIn();
}

// After a sign-out, this page shows nothing more: neither in another tab nor after the back button.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  leaving = false;
  if (!proof()) signIn();
});
addEventListener("storage", (event) => {
  if (event.key === PROOF && !event.newValue && location.pathname !== "/login") signIn();
});

export const chatPath = (chat, rest = "") => `/api/chats/${encodeURIComponent(chat)}${rest}`;
