// What the side of the page says: one graph, a region, an uploaded file, the legend.

import { button, list, make, show, showOwn, table, theme } from "./dom.js";

const DRAWN = 12; // graphs of a region that are shown as drawings; the others are a list of ids

export class Cards {
  // choose(row) opens a graph, point(row) shows where it is (-1: none)
  constructor(source, choose, point) {
    Object.assign(this, { source, choose, point });
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
      const title = "Colour nodes by what each contributes: T(h_u, H(G)) (C)";
      const pressed = button("Contributions of nodes", toggle, { id: "contributions", title });
      pressed.setAttribute("aria-pressed", String(contributions));
      parts.push(make("div", { className: "row" }, pressed));
    }
    return [...parts, table(graph.facts, graph.columns), ...this.nearest(graph.neighbours)];
  }

  // a graph that is not on the map
  unseen(name, found) {
    const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(found.drawing)}`;
    const image = make("img", { className: "large", alt: `Drawing of ${name}`, src: address });
    return [make("h2", { textContent: name }), image, table(found.facts), ...this.nearest(found.hits)];
  }

  nearest(hits) {
    if (!hits || !hits.length) return [];
    return [make("h3", { textContent: "Nearest graphs" }), this.grid(hits)];
  }

  // drawings side by side, each a way to its graph
  grid(hits) {
    const cards = hits.map(({ row, id, score }) => {
      const card = make("button", { type: "button", title: score === undefined ? id : `${id}: ${score}` });
      card.append(this.picture(row, 160), make("span", { textContent: id }));
      if (score !== undefined) card.append(make("small", { textContent: show(score, 5) }));
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
