// Requests to the gateway. A failure carries its code and the gateway's own words.

export class Refused extends Error {
  constructor(status, code, words) {
    super(words);
    this.status = status;
    this.code = code;
  }

  /** Whether the same request may well succeed later: nobody was there, or could not keep it just now. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const AWAY = "The gateway is away.";

export async function ask(method, path, body, headers = {}) {
  const isJson = body !== undefined && !(body instanceof Blob);
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: { "X-Holdfast": "1", ...(isJson ? { "Content-Type": "application/json" } : {}), ...headers },
      body: isJson ? JSON.stringify(body) : body,
    });
  } catch {
    throw new Refused(0, "away", AWAY);
  }
  if (answer.status === 401) signIn();
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

let leaving = false;

/** Whoever is not signed in goes to the door, once however many requests say so; what they wrote waits in the outbox. */
export function signIn() {
  if (!leaving) location.assign("/login");
  leaving = true;
}

export const chatPath = (chat, rest = "") => `/api/chats/${encodeURIComponent(chat)}${rest}`;
