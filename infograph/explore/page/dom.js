// Small helpers. Every text of a user's file enters the page as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export function makeSvg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export function show(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(digits)).toString();
}

// a number that was rounded to 32 bits, with no more digits than it takes to tell it from others
export function shortest(value) {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

// a value of the user's: with the digits that it has, and a year without a comma
export function showOwn(value) {
  return Number.isInteger(value) ? String(value) : show(value, 8);
}

// facts are rounded, what is the user's own is not
export function table(facts, own = {}) {
  const row = (name, text) => make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: text }));
  const rows = Object.entries(own).map(([name, value]) => row(name, showOwn(value)));
  rows.push(...Object.entries(facts).map(([name, value]) => row(name, show(value))));
  return make("table", {}, make("tbody", {}, ...rows));
}

export function list(items) {
  return make("ul", { className: "list" }, ...items.map((item) => make("li", {}, item)));
}

export function button(text, onclick, properties = {}) {
  return make("button", { type: "button", textContent: text, onclick, ...properties });
}

export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function theme() {
  return document.documentElement.dataset.theme;
}
