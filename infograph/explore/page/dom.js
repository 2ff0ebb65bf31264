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

export function show(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(4)).toString();
}

export function table(facts) {
  const rows = Object.entries(facts).map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: show(value) })),
  );
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
