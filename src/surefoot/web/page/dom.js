// Elements made from data; text is always set as text, so that a run's name cannot become markup.

const SVG = "http://www.w3.org/2000/svg";

/** The element with this id. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** An HTML element with properties and children. @param {string} tag @param {object} properties */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** An SVG element with attributes and children. @param {string} tag @param {object} attributes */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** A number with about three digits, and a real minus sign. @param {number|null|undefined} number */
export function shown(number) {
  if (number === null || number === undefined) return "–";
  const digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  return number.toFixed(digits).replace("-", "−");
}

/** A table of rows of text; `now` is the number of a row that is marked. */
export function table(caption, heads, rows, now = -1) {
  const head = element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text))));
  const body = element("tbody", {}, ...rows.map((row, i) =>
    element("tr", { className: i === now ? "now" : "" }, ...row.map((text) => element("td", {}, String(text))))));
  const made = element("table", {}, head, body);
  made.setAttribute("aria-label", caption);
  return made;
}

/** Round numbers that divide an interval into about `count` parts. @returns {number[]} */
export function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= rough) * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/** A number on an axis. @param {number} number */
export function tickText(number) {
  const rounded = Math.abs(number) < 1e-9 ? 0 : number;
  const text = Math.abs(rounded) >= 10_000 ? `${rounded / 1000}k` : String(Number(rounded.toPrecision(6)));
  return text.replace("-", "−");
}
