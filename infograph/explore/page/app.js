// The explorer: a map, and what is known of the graph or the region that was chosen.

import { $, Cards, colouring, make, makeSvg, save, show, theme } from "./cards.js";
import { PointMap } from "./map.js";
import { watchKeys, watchPointer } from "./pointer.js";
import { signature } from "./smiles.js";
import { FileSource, ServerSource } from "./source.js";

const inside = $("atlas-data"); // of the map as one file
const source = inside ? new FileSource(inside.textContent, signature) : new ServerSource(new URLSearchParams(location.search).get("token"));
const LONGEST = 120; // characters of a region's name
const page = { atlas: null, map: null, cards: null, graph: null, region: [], added: [], pointed: -1, contributions: false, asked: 0 };

// ---- what goes wrong, and where things stand

async function attempt(work, during = "") {
  $("error").hidden = true;
  document.body.classList.toggle("busy", Boolean(during));
  if (during) $("status").textContent = during;
  try {
    return await work();
  } catch (error) {
    $("error-text").textContent = error.message;
    $("error").hidden = false;
    return null;
  } finally {
    document.body.classList.remove("busy");
    if (during && page.atlas) standing();
  }
}

function standing() {
  const chosen = page.region.length ? `${show(page.region.length)} of ${show(page.atlas.n)} graphs chosen. ` : "";
  $("status").textContent = chosen + page.atlas.layout;
}

// Whoever works by keys stays where they are: on the same button, or else on the new heading.
function fill(id, parts) {
  const focused = $(id).contains(document.activeElement) ? document.activeElement : null;
  $(id).replaceChildren(...parts);
  $(id).hidden = !parts.length;
  if (!focused) return;
  const heading = $(id).querySelector("h2");
  if (heading) heading.tabIndex = -1;
  ((focused.id && $(focused.id)) || heading || $("map")).focus({ preventScroll: true });
}

function bringUp(id) {
  $(id).querySelector("h2").scrollIntoView({ block: "nearest" });
}

// ---- colours

async function recolour() {
  const index = $("colour").selectedIndex - 1;
  const column = index < 0 ? null : page.atlas.columns[index];
  const values = column ? await attempt(() => source.column(index)) : new Float32Array(page.atlas.n);
  if (!values || index !== $("colour").selectedIndex - 1) return;
  const { shades, palette, legend } = colouring(column, values, theme());
  page.map.setColours(shades, palette);
  $("legend").replaceChildren(...page.cards.legend(legend, values, chooseRegion));
}

// ---- one graph

async function choose(row) {
  if (row < 0) return;
  const turn = ++page.asked; // an answer that another question has overtaken is dropped
  const graph = await attempt(() => source.graph(row));
  if (!graph || turn !== page.asked) return;
  page.graph = graph;
  page.pointed = -1;
  showGraph();
  bringUp("graph");
  page.map.reveal(...page.map.place(row));
}

function showGraph() {
  const contributions = page.graph.contributions ? page.contributions : null;
  const toggle = () => {
    page.contributions = !page.contributions;
    showGraph();
  };
  fill("graph", page.cards.graph(page.graph, contributions, toggle));
}

function point(row) {
  page.pointed = row;
  page.map.draw();
}

function closeAll() {
  $("error").hidden = true;
  page.asked++;
  page.graph = null;
  page.added = [];
  ["graph", "uploaded"].forEach((id) => fill(id, []));
  chooseRegion([]);
}

// ---- a region

async function chooseRegion(rows, name = "Region") {
  page.region = rows;
  page.map.select(rows);
  standing();
  fill("region", []);
  if (!rows.length) return;
  const short = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
  const head = make("h2", { textContent: `${short}: ${show(rows.length)} ${rows.length === 1 ? "graph" : "graphs"}`, title: name });
  fill("region", [head]);
  const told = await attempt(() => Promise.all([source.describe(rows), source.rows(rows)]), "Describing the region…");
  if (!told || page.region !== rows) return;
  const onexport = () => attempt(async () => save(await source.export(rows), "region.csv"), "Exporting…");
  fill("region", [head, ...page.cards.region(...told, { onexport, onclear: () => chooseRegion([]) })]);
  bringUp("region");
}

// ---- search and upload

async function search(query) {
  const name = query.trim();
  if (!name) return;
  const turn = ++page.asked;
  const found = await attempt(() => source.search(name, theme()), "Searching…");
  if (!found || turn !== page.asked) return;
  if (found.kind === "id") return choose(found.row);
  if (found.kind === "rows") return found.rows.length === 1 ? choose(found.rows[0]) : chooseRegion(found.rows, `“${name}”`);
  page.graph = null;
  page.added = [{ id: name, point: found.point }];
  fill("graph", page.cards.unseen(name, found));
  bringUp("graph");
  page.map.reveal(...found.point);
}

async function upload(file) {
  const most = page.atlas.limits.body;
  const found = await attempt(() => {
    if (file.size > most) throw new Error(`${file.name} is larger than ${show(most / 2 ** 20)} MB, the most that is taken at a time.`);
    return source.upload(file);
  }, `Reading ${file.name}…`);
  if (!found) return;
  page.added = found.graphs;
  fill("uploaded", page.cards.uploaded(file.name, found));
  bringUp("uploaded");
  page.map.draw();
}

// ---- what lies over the map: marks, and lines to the nearest graphs

function placeMarks() {
  const { map, graph } = page;
  const mark = (kind, point, title) => {
    const [x, y] = map.toPage(...point);
    const element = make("div", { className: `mark ${kind}`, title });
    element.style.left = `${x}px`;
    element.style.top = `${y}px`;
    return element;
  };
  const marks = page.added.map(({ id, point }) => mark("new", point, id));
  let lines = [];
  if (graph) {
    const [x1, y1] = map.toPage(...map.place(graph.row));
    marks.push(mark("chosen", map.place(graph.row), graph.id));
    lines = (graph.neighbours || []).map((hit) => {
      const [x2, y2] = map.toPage(...map.place(hit.row));
      return makeSvg("line", { x1, y1, x2, y2 });
    });
  }
  if (page.pointed >= 0) marks.push(mark("pointed", map.place(page.pointed), ""));
  $("marks").replaceChildren(...marks);
  $("links").replaceChildren(...lines);
}

function hover(row, x, y) {
  const tip = $("tip");
  const image = tip.querySelector("img");
  const where = source.drawing(row, 160, theme());
  image.className = source.paper ? "paper" : "";
  if (where && page.atlas.drawings !== false) image.src = where;
  else image.removeAttribute("src");
  tip.dataset.row = row;
  tip.querySelector("span").textContent = page.atlas.ids ? page.atlas.ids[row] : "";
  if (!page.atlas.ids) nameTip(tip, row);
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(x + 14, page.map.canvas.clientWidth - 184))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, page.map.canvas.clientHeight - 158))}px`;
}

// of very many graphs the page has no ids: a row is none, and must not look like one
async function nameTip(tip, row) {
  const known = await source.rows([row]).catch(() => null);
  if (known && tip.dataset.row === String(row)) tip.querySelector("span").textContent = known.rows[0].id;
}

// ---- buttons, keys, files that are dropped

function listen() {
  const { map } = page;
  const click = (id, action) => ($(id).onclick = action);
  const press = ({ currentTarget: it }) => it.setAttribute("aria-pressed", String(it.getAttribute("aria-pressed") !== "true"));
  const turn = () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    if (page.graph) showGraph();
    recolour();
  };
  click("zoom-in", () => map.zoomAt(1.4));
  click("zoom-out", () => map.zoomAt(1 / 1.4));
  click("home", () => map.reset());
  click("lasso-mode", press);
  click("theme", turn);
  $("colour").onchange = recolour;
  $("search").onsubmit = (event) => {
    event.preventDefault();
    search($("query").value);
  };
  $("upload").onchange = ({ target }) => {
    if (target.files.length) upload(target.files[0]);
    target.value = "";
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (page.atlas.upload && event.dataTransfer.files.length) upload(event.dataTransfer.files[0]);
  });
  watchPointer(map, {
    hover,
    leave: () => ($("tip").hidden = true),
    choose,
    lasso: (polygon) => chooseRegion(map.within(polygon), "Lasso"),
  });
  const step = 60;
  watchKeys({
    ArrowLeft: () => map.pan(step, 0),
    ArrowRight: () => map.pan(-step, 0),
    ArrowUp: () => map.pan(0, step),
    ArrowDown: () => map.pan(0, -step),
    "+": () => map.zoomAt(1.4),
    "=": () => map.zoomAt(1.4),
    "-": () => map.zoomAt(1 / 1.4),
    0: () => map.reset(),
    Enter: () => choose(map.pick(map.canvas.clientWidth / 2, map.canvas.clientHeight / 2, 1e4)),
    Escape: closeAll,
    l: () => $("lasso-mode").click(),
    d: () => $("theme").click(),
    c: () => $("contributions")?.click(),
    "/": () => $("query").focus(),
  });
}

function introduce(atlas) {
  $("title").textContent = atlas.title;
  document.title = `${atlas.title} — infograph`;
  $("about").textContent = atlas.about;
  $("query").placeholder = atlas.smiles ? "An id, a SMILES or a text ( / )" : "An id or a text ( / )";
  $("upload-box").hidden = !atlas.upload;
  const options = atlas.columns.map((column) => make("option", { textContent: column.name }));
  $("colour").replaceChildren(make("option", { textContent: "nothing" }), ...options);
  $("colour").selectedIndex = atlas.colour + 1;
}

async function start() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("error-close").onclick = () => ($("error").hidden = true);
  const opened = await attempt(async () => {
    page.map = new PointMap($("map"));
    const known = await source.atlas();
    return [known, await source.points()];
  }, "Loading…");
  if (!opened) return;
  const [atlas, points] = opened;
  page.atlas = atlas;
  const units = new Map(atlas.columns.filter(({ name, unit }) => unit && !name.includes(unit)).map(({ name, unit }) => [name, unit]));
  page.cards = new Cards(source, choose, point, units);
  page.map.onmove = placeMarks;
  page.map.setPoints(points);
  introduce(atlas);
  listen();
  standing();
  await recolour();
  document.body.dataset.ready = "true";
}

start();
