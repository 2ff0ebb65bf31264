// The explorer: a map, and what is known of the graph or the region that was chosen.

import { colouring } from "./colours.js";
import { PointMap } from "./map.js";
import { FileSource, ServerSource } from "./source.js";

const $ = (id) => document.getElementById(id);
const source = window.ATLAS ? new FileSource(window.ATLAS) : new ServerSource(new URLSearchParams(location.search).get("token"));
const page = { atlas: null, map: null, chosen: -1, region: [], marks: [], contributions: false };

// ---- small helpers: every text of a user's file enters the page as text, never as markup

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function theme() {
  return document.documentElement.dataset.theme;
}

function show(value) {
  if (typeof value !== "number") return String(value ?? "");
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(4)).toString();
}

function picture(row, size, scores) {
  const image = make("img", { alt: "", loading: "lazy" });
  const where = source.drawing(row, size, theme(), scores);
  if (where) image.src = where;
  else image.hidden = true;
  return image;
}

async function attempt(work, during = "") {
  $("error").hidden = true;
  if (during) $("status").textContent = during;
  try {
    return await work();
  } catch (error) {
    $("error").textContent = error.message;
    $("error").hidden = false;
    return null;
  } finally {
    if (during && page.atlas) standing();
  }
}

function standing() {
  const n = page.atlas.n.toLocaleString("en");
  const chosen = page.region.length ? `, ${page.region.length.toLocaleString("en")} chosen` : "";
  $("status").textContent = `${n} graphs${chosen}. ${page.atlas.layout}`;
}

// ---- colours

async function recolour() {
  const index = $("colour").selectedIndex - 1;
  const column = index < 0 ? null : page.atlas.columns[index];
  const values = column ? await attempt(() => source.column(index)) : new Float32Array(page.atlas.n);
  if (!values) return;
  const { shades, palette, legend } = colouring(column, values);
  page.map.setColours(shades, palette);
  $("legend").replaceChildren(...legend.map((line) => legendLine(line, values)));
}

function legendLine(line, values) {
  if (line.scale) {
    const bar = make("div", { className: "scale" });
    bar.style.background = `linear-gradient(to right, ${line.scale.join(",")})`;
    const ends = make("div", { className: "ends" }, make("span", { textContent: show(line.least) }), make("span", { textContent: `${show(line.most)} ${line.unit}` }));
    return make("div", {}, bar, ends);
  }
  const dot = make("i");
  dot.style.background = line.colour;
  const button = make("button", { title: "Choose these graphs" }, dot, make("b", { textContent: line.text }), make("small", { textContent: show(line.count) }));
  button.disabled = line.code === undefined;
  button.onclick = () => chooseRegion([...values.keys()].filter((row) => values[row] === line.code), line.text);
  return button;
}

// ---- one graph

async function choose(row, travel = false) {
  if (row < 0) return;
  const graph = await attempt(() => source.graph(row));
  if (!graph) return;
  page.chosen = row;
  const [x, y] = page.map.place(row);
  page.marks = page.marks.filter((mark) => mark.kind === "new").concat({ kind: "chosen", x, y });
  if (travel) page.map.goTo(x, y, Math.max(page.map.zoom, 3));
  showGraph(graph);
  page.map.draw();
}

function showGraph(graph) {
  const box = $("graph");
  const large = picture(graph.row, 600, page.contributions);
  large.className = "large";
  large.alt = `Drawing of ${graph.id}`;
  const parts = [make("h2", { textContent: graph.id }), large];
  if (page.atlas.contributions) {
    const toggle = make("button", { textContent: "Contributions of nodes", title: "T(h_u, H(G)) of every node (C)" });
    toggle.setAttribute("aria-pressed", String(page.contributions));
    toggle.onclick = () => contributions(graph);
    parts.push(toggle);
  }
  const facts = { ...graph.columns, ...graph.facts };
  const rows = Object.entries(facts).map(([name, value]) => make("tr", {}, make("th", { textContent: name }), make("td", { textContent: show(value) })));
  parts.push(make("table", {}, ...rows));
  parts.push(...nearest(graph.neighbours, "Nearest graphs"));
  box.replaceChildren(...parts);
  box.hidden = false;
}

function contributions(graph) {
  page.contributions = !page.contributions;
  showGraph(graph);
}

function nearest(hits, title) {
  if (!hits || !hits.length) return [];
  const cards = hits.map((hit) => {
    const card = make("button", { title: hit.id }, picture(hit.row, 160), make("span", { textContent: hit.id }), make("small", { textContent: show(hit.score) }));
    card.onclick = () => choose(hit.row, true);
    return card;
  });
  return [make("h2", { textContent: title }), make("div", { className: "near" }, ...cards)];
}

// ---- a region

async function chooseRegion(rows, name = "Region") {
  page.region = rows;
  page.map.select(rows);
  standing();
  const box = $("region");
  box.hidden = rows.length === 0;
  if (!rows.length) return;
  box.replaceChildren(make("h2", { textContent: `${name}: ${show(rows.length)} graphs` }));
  const [about, listed] = (await attempt(() => Promise.all([source.describe(rows), source.rows(rows)]), "Describing the region…")) || [];
  if (!about || page.region !== rows) return;
  const items = listed.rows.map((one) => {
    const button = make("button", { textContent: one.id });
    button.onclick = () => choose(one.row, true);
    return make("li", {}, button);
  });
  const download = make("button", { textContent: "Export as CSV" });
  download.onclick = () => attempt(async () => save(await source.export(rows), "region.csv"));
  const clear = make("button", { textContent: "Clear" });
  clear.onclick = () => chooseRegion([]);
  const facts = make("ul", { className: "facts" }, ...about.facts.map((fact) => make("li", { textContent: fact })));
  box.append(make("p", { textContent: about.text }), facts, make("div", { className: "row" }, download, clear), make("ul", { className: "list" }, ...items));
  if (listed.total > listed.rows.length) box.append(make("p", { textContent: `The first ${show(listed.rows.length)} are listed; the export has all.` }));
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// ---- search and upload

async function search(query) {
  if (!query.trim()) return;
  const found = await attempt(() => source.search(query.trim()), "Searching…");
  if (!found) return;
  if (found.kind === "id") {
    await choose(found.row, true);
    return;
  }
  addNew([{ id: query.trim(), point: found.point }], true);
  const image = make("img", { className: "large", alt: `Drawing of ${query}`, src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(found.drawing)}` });
  const facts = Object.entries(found.facts || {}).map(([name, value]) => make("tr", {}, make("th", { textContent: name }), make("td", { textContent: show(value) })));
  $("graph").replaceChildren(make("h2", { textContent: query.trim() }), image, make("table", {}, ...facts), ...nearest(found.hits, "Nearest graphs"));
  $("graph").hidden = false;
}

function addNew(graphs, travel) {
  page.marks = page.marks.filter((mark) => mark.kind !== "new").concat(graphs.map(({ id, point }) => ({ kind: "new", id, x: point[0], y: point[1] })));
  if (travel && graphs.length) page.map.goTo(graphs[0].point[0], graphs[0].point[1], Math.max(page.map.zoom, 2));
  page.map.draw();
}

async function upload(file) {
  const found = await attempt(() => source.upload(file), `Reading ${file.name}…`);
  if (!found) return;
  addNew(found.graphs, false);
  const items = found.graphs.map((graph) => {
    const button = make("button", { textContent: `${graph.id} → ${graph.nearest.id} (${show(graph.nearest.score)})` });
    button.onclick = () => choose(graph.nearest.row, true);
    return make("li", {}, button);
  });
  const bad = found.rejected.map((one) => make("li", { textContent: `${one.id}: ${one.problem}` }));
  $("uploaded").replaceChildren(make("h2", { textContent: `${file.name}: ${show(found.graphs.length)} graphs` }), make("p", { textContent: "Each with the nearest graph of the map." }), make("ul", { className: "list" }, ...items), make("ul", { className: "facts" }, ...bad));
  $("uploaded").hidden = false;
}

// ---- the pointer and the keyboard

function listen() {
  const { map } = page;
  const canvas = map.canvas;
  const tip = $("tip");
  let held = null;
  let hovered = -1;
  let waiting = 0;

  const local = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = local(event);
    const lasso = event.shiftKey || $("lasso-mode").getAttribute("aria-pressed") === "true";
    held = { x, y, moved: false, lasso: lasso ? [[x, y]] : null };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = local(event);
    if (held) {
      held.moved ||= Math.hypot(x - held.x, y - held.y) > 3;
      if (held.lasso) {
        held.lasso.push([x, y]);
        $("lasso").setAttribute("points", held.lasso.map((point) => point.join(",")).join(" "));
      } else if (held.moved) {
        map.pan(x - held.x, y - held.y);
        [held.x, held.y] = [x, y];
      }
      return;
    }
    const row = map.pick(x, y);
    if (row !== hovered) {
      hovered = row;
      clearTimeout(waiting);
      if (row < 0) tip.hidden = true;
      else waiting = setTimeout(() => hover(row), 25);
    }
    tip.style.left = `${Math.min(x + 14, canvas.clientWidth - 190)}px`;
    tip.style.top = `${Math.min(y + 14, canvas.clientHeight - 160)}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const was = held;
    held = null;
    if (!was) return;
    $("lasso").setAttribute("points", "");
    if (was.lasso && was.lasso.length > 2) chooseRegion(map.within(was.lasso.map(([x, y]) => map.toMap(x, y))), "Lasso");
    else if (!was.moved) choose(map.pick(...local(event)));
  });
  canvas.addEventListener("pointerleave", () => {
    hovered = -1;
    clearTimeout(waiting);
    tip.hidden = true;
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    map.zoomAt(Math.exp(-event.deltaY * 0.0016), ...local(event));
  }, { passive: false });

  const step = 60;
  const keys = {
    ArrowLeft: () => map.pan(step, 0),
    ArrowRight: () => map.pan(-step, 0),
    ArrowUp: () => map.pan(0, step),
    ArrowDown: () => map.pan(0, -step),
    "+": () => map.zoomAt(1.4),
    "=": () => map.zoomAt(1.4),
    "-": () => map.zoomAt(1 / 1.4),
    0: () => map.reset(),
    Enter: () => choose(map.pick(canvas.clientWidth / 2, canvas.clientHeight / 2, 1e4)),
    Escape: () => chooseRegion([]),
    l: () => $("lasso-mode").click(),
    d: () => $("theme").click(),
    c: () => $("graph").querySelector("[aria-pressed]")?.click(),
    "/": () => $("query").focus(),
  };
  document.addEventListener("keydown", (event) => {
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    const elsewhere = event.target.tagName === "BUTTON" && event.key === "Enter";
    if (typing || elsewhere || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

function hover(row) {
  const tip = $("tip");
  const image = tip.querySelector("img");
  const where = source.drawing(row, 160, theme());
  if (where) image.src = where;
  else image.removeAttribute("src");
  tip.querySelector("span").textContent = page.atlas.ids ? page.atlas.ids[row] : `graph ${row}`;
  tip.dataset.row = row;
  tip.hidden = false;
}

function placeMarks() {
  $("marks").replaceChildren(
    ...page.marks.map((mark) => {
      const [x, y] = page.map.toPage(mark.x, mark.y);
      const element = make("div", { className: `mark ${mark.kind}`, title: mark.id || "" });
      element.style.left = `${x}px`;
      element.style.top = `${y}px`;
      return element;
    }),
  );
}

function buttons() {
  $("zoom-in").onclick = () => page.map.zoomAt(1.4);
  $("zoom-out").onclick = () => page.map.zoomAt(1 / 1.4);
  $("home").onclick = () => page.map.reset();
  $("lasso-mode").onclick = ({ currentTarget }) =>
    currentTarget.setAttribute("aria-pressed", String(currentTarget.getAttribute("aria-pressed") !== "true"));
  $("theme").onclick = () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    if (page.chosen >= 0) choose(page.chosen);
  };
  $("colour").onchange = recolour;
  $("search").onsubmit = (event) => {
    event.preventDefault();
    search($("query").value);
  };
  $("upload").onchange = ({ target }) => {
    if (target.files.length) upload(target.files[0]);
    target.value = "";
  };
  $("upload-box").hidden = !source.canUpload;
}

async function start() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  buttons();
  const opened = await attempt(async () => {
    page.map = new PointMap($("map"));
    return Promise.all([source.atlas(), source.points()]);
  }, "Loading…").catch(() => null);
  if (!opened) return;
  const [atlas, points] = opened;
  page.atlas = atlas;
  page.map.onmove = placeMarks;
  page.map.setPoints(points);
  $("title").textContent = atlas.title;
  document.title = `${atlas.title} — infograph`;
  $("about").textContent = atlas.about;
  $("colour").replaceChildren(make("option", { textContent: "nothing" }), ...atlas.columns.map((column) => make("option", { textContent: column.name })));
  $("colour").selectedIndex = atlas.colour + 1;
  await recolour();
  listen();
  standing();
  document.body.dataset.ready = "true";
}

start();
