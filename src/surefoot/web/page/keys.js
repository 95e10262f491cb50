// The keyboard: one list makes both what keys do and what the help under `?` says.

import { byId, element } from "./dom.js";

/** Begins to listen. A key is [keys, what it does, action]; keys in a field belong to the field. */
export function listen(keys) {
  const rows = keys.map(([names, text]) => element("tr", {},
    element("td", {}, ...names.map((name) => element("kbd", {}, label(name))).flatMap((each, i) => (i ? [" ", each] : [each]))),
    element("td", {}, text)));
  byId("key-list").querySelector("tbody").replaceChildren(...rows);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const isField = target.matches("input[type=number], select, input[type=range]");
    if (isField && event.key !== "?" && event.key !== "Escape") return;
    if (target.matches("button, input[type=checkbox]") && [" ", "Enter"].includes(event.key)) return;
    const found = keys.find(([names]) => names.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found[2](event.key);
  });
}

const LABELS = { " ": "space", ArrowLeft: "←", ArrowRight: "→" };
const label = (name) => LABELS[name] ?? name;
