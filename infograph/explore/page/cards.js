// What the side of the page says: one graph, a region, an uploaded file, the legend.
// Every text of a user's file enters the page as text, never as markup.

const DRAWN = 12; // graphs of a region that are shown as drawings; the others are a list of ids

export class Cards {
  // choose(row) opens a graph, point(row) shows where it is (-1: none); units: of columns whose names have none
  constructor(source, choose, point, units) {
    Object.assign(this, { source, choose, point, units });
  }

  picture(row, size, scores = false) {
    const where = this.source.drawing(row, size, theme(), scores);
    const image = make("img", { alt: "", loading: "lazy", className: this.source.paper ? "paper" : "" });
    if (where) image.src = where;
    else image.hidden = true;
    image.onerror = () => (image.hidden = true);
    return image;
  }

  // one graph of the map; contributions: whether its nodes are coloured, or null where they cannot be
  graph(graph, contributions, toggle) {
    const large = this.picture(graph.row, 400, contributions === true);
    large.classList.add("large");
    large.alt = `Drawing of ${graph.id}`;
    const parts = [make("h2", { textContent: graph.id }), large];
    if (contributions !== null) {
      const title = "Colour nodes by what each contributes to the information or prediction (C)";
      const pressed = button("Contributions of nodes", toggle, { id: "contributions", title });
      pressed.setAttribute("aria-pressed", String(contributions));
      parts.push(make("div", { className: "row" }, pressed));
    }
    return [...parts, table(this.units, graph.facts, graph.columns), ...this.nearest(graph.neighbours)];
  }

  // a graph that is not on the map
  unseen(name, found) {
    const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(found.drawing)}`;
    const image = make("img", { className: "large", alt: `Drawing of ${name}`, src: address });
    return [make("h2", { textContent: name }), image, table(this.units, found.facts), ...this.nearest(found.hits)];
  }

  nearest(hits) {
    if (!hits || !hits.length) return [];
    const alike = hits.some(({ tanimoto }) => typeof tanimoto === "number") ? ": score · Tanimoto" : "";
    return [make("h3", { textContent: `Nearest graphs${alike}` }), this.grid(hits)];
  }

  // drawings side by side, each a way to its graph
  grid(hits) {
    const cards = hits.map(({ row, id, score, tanimoto }) => {
      const alike = typeof tanimoto === "number" ? `, Tanimoto ${show(tanimoto, 3)}` : "";
      const card = make("button", { type: "button", title: score === undefined ? id : `${id}: ${score}${alike}` });
      card.append(this.picture(row, 160), make("span", { textContent: id }));
      if (score !== undefined) card.append(make("small", { textContent: show(score, alike ? 3 : 5) + (alike && ` · ${show(tanimoto, 2)}`) }));
      card.onclick = () => this.choose(row);
      card.onpointerenter = card.onfocus = () => this.point(row);
      card.onpointerleave = card.onblur = () => this.point(-1);
      return card;
    });
    return make("div", { className: "near" }, ...cards);
  }

  region(about, listed, { onexport, onclear }) {
    const facts = make("ul", { className: "facts" }, ...about.facts.map((fact) => make("li", { textContent: fact })));
    const actions = make("div", { className: "row" }, button("Export as CSV", onexport, { id: "export" }), button("Clear", onclear));
    const items = listed.rows.slice(DRAWN).map((one) => button(one.id, () => this.choose(one.row)));
    const parts = [make("p", { textContent: about.text }), facts, actions, this.grid(listed.rows.slice(0, DRAWN)), list(items)];
    if (listed.total > listed.rows.length) {
      parts.push(make("p", { className: "soft", textContent: `The first ${show(listed.rows.length)} are listed; the export has all.` }));
    }
    return parts;
  }

  uploaded(name, found) {
    const items = found.graphs.map(({ id, nearest }) => button(`${id} → ${nearest.id} (${show(nearest.score)})`, () => this.choose(nearest.row)));
    const bad = found.rejected.map((one) => make("li", { textContent: `${one.id}: ${one.problem}` }));
    const parts = [
      make("h2", { textContent: `${name}: ${show(found.graphs.length)} ${found.graphs.length === 1 ? "graph" : "graphs"}` }),
      make("p", { className: "soft", textContent: `Each → the nearest graph. A diamond on the map is one of them, ${found.placed}.` }),
      list(items),
    ];
    if (bad.length) parts.push(make("h3", { textContent: `${show(bad.length)} not used` }), make("ul", { className: "facts" }, ...bad));
    return parts;
  }

  legend(lines, values, chooseRows) {
    const end = (value) => (Number.isInteger(value) ? showOwn(value) : show(value));
    return lines.map((line) => {
      if (line.scale) {
        const bar = make("div", { className: "scale" });
        bar.style.background = `linear-gradient(to right, ${line.scale.join(",")})`;
        const most = make("span", { textContent: `${end(line.most)} ${line.unit}` });
        return make("div", {}, bar, make("div", { className: "ends" }, make("span", { textContent: end(line.least) }), most));
      }
      const dot = make("i");
      dot.style.background = line.colour;
      const parts = [dot, make("b", { textContent: line.text }), make("small", { textContent: show(line.count) })];
      const choice = make("button", { type: "button", title: `Choose these graphs: ${line.text}` }, ...parts);
      choice.onclick = () => chooseRows([...values.keys()].filter((row) => line.holds(values[row])), line.text);
      return choice;
    });
  }
}

// ---- elements and texts

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

// a value of the user's: with the digits that it has, and a year without a comma
function showOwn(value) {
  return Number.isInteger(value) ? String(value) : show(value, 8);
}

// facts are rounded, what is the user's own is not
function table(units, facts, own = {}) {
  const row = (name, text) => {
    const shown = units.has(name) && text !== "–" ? `${text} ${units.get(name)}` : text;
    return make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: shown }));
  };
  const rows = Object.entries(own).map(([name, value]) => row(name, showOwn(value)));
  rows.push(...Object.entries(facts).map(([name, value]) => row(name, show(value))));
  return make("table", {}, make("tbody", {}, ...rows));
}

function list(items) {
  return make("ul", { className: "list" }, ...items.map((item) => make("li", {}, item)));
}

function button(text, onclick, properties = {}) {
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

// ---- colours of points: a few that differ for classes, a scale for numbers; readable in light and dark

// Okabe and Ito's hues (2008), lightened for dark pages, and a few more.
const HUES = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a5bd1", "#a3843b", "#6b8e23", "#b03060"],
  dark: ["#4aa8e0", "#f0803c", "#2fc79a", "#e39ac4", "#f3b93f", "#a5d8f5", "#b392e8", "#c9ab62", "#9cc04a", "#e0698f"],
};
const OTHERS = { light: "#b4bac2", dark: "#5d6773" };
// Viridis without the end that the page would swallow.
const SCALES = {
  light: ["#440154", "#46307e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#8fc93a"],
  dark: ["#5b4bb5", "#4a6fc0", "#3a93b8", "#2fb49a", "#5fce72", "#a8df45", "#fde725"],
};

// { shades, palette, legend }: a place in the palette per point, 256 colours, and lines for people.
export function colouring(column, values, theme) {
  const [hues, other] = [HUES[theme], OTHERS[theme]];
  if (!column) return { shades: new Float32Array(values.length).fill(0.5 / 256), palette: paletteOf([hues[0]]), legend: [] };
  return column.kind === "category" ? classes(column, values, hues, other) : numbers(column, values, SCALES[theme], other);
}

function classes(column, codes, hues, other) {
  const counts = column.counts;
  const order = column.categories.map((_, code) => code).sort((a, b) => counts[b] - counts[a]);
  const shown = order.slice(0, hues.length);
  const place = new Map(shown.map((code, at) => [code, at]));
  const shades = Float32Array.from(codes, (code) => ((place.has(code) ? place.get(code) : hues.length) + 0.5) / 256);
  const legend = shown.map((code, at) => ({ colour: hues[at], text: column.categories[code], count: counts[code], holds: (own) => own === code }));
  const hidden = new Set(order.slice(hues.length));
  const rest = [...hidden].reduce((sum, code) => sum + counts[code], 0);
  if (rest) legend.push({ colour: other, text: `${hidden.size} others`, count: rest, holds: (code) => hidden.has(code) });
  if (column.missing) legend.push(lacking(column, other));
  return { shades, palette: paletteOf([...hues, other]), legend };
}

function numbers(column, values, scale, other) {
  const span = column.max - column.min || 1;
  const shades = Float32Array.from(values, (value) =>
    Number.isNaN(value) ? 255.5 / 256 : (Math.min(1, Math.max(0, (value - column.min) / span)) * 254 + 0.5) / 256,
  );
  const steps = Array.from({ length: 255 }, (_, at) => between(scale, at / 254));
  const legend = [{ scale, least: column.min, most: column.max, unit: column.unit || "" }];
  if (column.missing) legend.push(lacking(column, other));
  return { shades, palette: paletteOf([...steps, other]), legend };
}

function lacking(column, colour) {
  return { colour, text: column.missing_name || "no value", count: column.missing, holds: Number.isNaN };
}

function between(scale, share) {
  const at = share * (scale.length - 1);
  const low = Math.min(scale.length - 2, Math.floor(at));
  const [a, b] = [rgb(scale[low]), rgb(scale[low + 1])];
  return a.map((value, i) => Math.round(value + (b[i] - value) * (at - low)));
}

function paletteOf(colours) {
  const bytes = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i++) {
    const colour = colours[Math.min(i, colours.length - 1)];
    bytes.set([...(typeof colour === "string" ? rgb(colour) : colour), 215], 4 * i);
  }
  return bytes;
}

function rgb(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}
