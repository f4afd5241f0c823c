// What it takes to be answered: the token, which is kept in this tab only.

import { $ } from "/element.js";

const KEY = "mcpl-admin-token";

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (text) => sessionStorage.setItem(KEY, text),
  drop: () => sessionStorage.removeItem(KEY),
};

export async function ask(path, init = {}) {
  const headers = { ...init.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  return fetch(path, { ...init, headers, cache: "no-store", credentials: "omit" });
}

export function askForToken() {
  $("ask-said").textContent = token.get() ? "That is not the token." : "";
  token.drop();
  if (!$("ask").open) $("ask").showModal();
}

/** Calls `given` whenever a token was given. */
export function onToken(given) {
  $("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token.set($("token").value.trim());
    $("token").value = "";
    $("ask").close();
    given();
  });
}
