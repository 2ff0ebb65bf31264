// Where the page has its graphs from: the server that sent it, or the file itself.

export class ServerSource {
  constructor(token) {
    this.headers = token ? { "X-Token": token } : {};
    this.token = token;
    this.paper = false; // drawings come in the colours of the theme
  }

  async call(path, body) {
    const options = { headers: { ...this.headers } };
    if (body !== undefined) {
      const raw = body instanceof Blob;
      Object.assign(options, { method: "POST", body: raw ? body : JSON.stringify(body) });
      options.headers["Content-Type"] = raw ? "application/octet-stream" : "application/json";
    }
    let answer;
    try {
      answer = await fetch(path, options);
    } catch {
      throw new Error("The server does not answer. Is it still running?");
    }
    if (!answer.ok) {
      const said = await answer.json().catch(() => ({}));
      throw new Error(said.error || `The server answered ${answer.status}.`);
    }
    return answer;
  }

  async json(path, body) {
    return (await this.call(path, body)).json();
  }

  atlas() {
    return this.json("api/atlas");
  }

  async points() {
    return new Float32Array(await (await this.call("api/points")).arrayBuffer());
  }

  async column(index) {
    return new Float32Array(await (await this.call(`api/column/${index}`)).arrayBuffer());
  }

  graph(row) {
    return this.json(`api/graph/${row}`);
  }

  rows(rows) {
    return this.json("api/rows", { rows });
  }

  drawing(row, size, theme, scores = false) {
    const token = this.token ? `&token=${encodeURIComponent(this.token)}` : "";
    return `api/graph/${row}/drawing?size=${size}&theme=${theme}&scores=${scores}${token}`;
  }

  search(query, theme) {
    return this.json("api/search", { query, k: 12, theme });
  }

  describe(rows) {
    return this.json("api/describe", { rows });
  }

  async export(rows) {
    return (await this.call("api/export", { rows })).blob();
  }

  upload(file) {
    return this.json(`api/upload?name=${encodeURIComponent(file.name)}`, file);
  }
}

// The same from data that is part of the page: no drawing of unseen graphs, no upload.
// signature: of smiles.js; modules of a page that is one file import nothing
export class FileSource {
  constructor(packed, signature) {
    Object.assign(this, { packed, signature });
    this.paper = true; // drawings are for light pages
  }

  async atlas() {
    if (typeof DecompressionStream === "undefined") throw new Error("This browser cannot unpack the map: it is older than 2023.");
    const unpacked = new Blob([bytes(this.packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.data = await new Response(unpacked).json();
    return this.data.atlas;
  }

  async points() {
    return floats(this.data.points);
  }

  async column(index) {
    return floats(this.data.columns[index]);
  }

  async graph(row) {
    const neighbours = (this.data.neighbours[row] || []).map((hit) => this.hit(...hit));
    const { columns, ...known } = this.record(row);
    const found = new Set(this.data.atlas.columns.filter((column) => column.found).map((column) => column.name));
    const part = (ours) => Object.fromEntries(Object.entries(columns).filter(([name]) => found.has(name) === ours));
    const formula = this.data.formulas.length && !Object.hasOwn(columns, "formula") ? { formula: this.data.formulas[row] } : {};
    return { ...known, columns: part(false), facts: { ...formula, ...part(true) }, neighbours };
  }

  async rows(rows) {
    return { rows: rows.slice(0, 200).map((row) => this.record(row)), total: rows.length };
  }

  hit(row, score, tanimoto) {
    return { row, id: this.data.ids[row], score, tanimoto };
  }

  record(row) {
    const columns = Object.create(null); // a column may be called __proto__
    for (const [name, values] of Object.entries(this.data.texts)) columns[name] = values[row];
    this.data.atlas.columns.forEach((column, index) => {
      if (Object.hasOwn(columns, column.name)) return; // with more digits than a colour has
      const value = (this.cache ||= [])[index] || (this.cache[index] = floats(this.data.columns[index]));
      const known = column.kind === "category" ? column.categories[value[row]] : shortest(value[row]);
      columns[column.name] = Number.isNaN(known) || known === undefined ? null : known;
    });
    return { row, id: this.data.ids[row], columns };
  }

  drawing(row, size, theme) {
    const svg = (this.data.drawings || [])[row];
    return svg ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` : "";
  }

  // an id, any spelling of a molecule of the file, or a text of its ids and columns
  async search(query) {
    const row = this.data.ids.indexOf(query);
    if (row >= 0) return { kind: "id", row };
    const rows = this.spelled(query) || this.matching(query);
    if (!rows.length) throw new Error(`${query} is no id, no molecule and no text of this file. The explorer places new graphs.`);
    return { kind: "rows", rows };
  }

  spelled(query) {
    const smiles = this.data.texts.smiles;
    const wanted = smiles && this.signature(query);
    if (!wanted) return null;
    this.signatures ||= smiles.map((own) => own && this.signature(own));
    const rows = [...smiles.keys()].filter((row) => this.signatures[row] === wanted);
    const same = rows.filter((row) => smiles[row] === query); // stereoisomers have one signature
    return same.length ? same : rows.length ? rows : null;
  }

  // the whole text, else a part of one, letter by letter or in any case
  matching(query) {
    const cells = [this.data.ids, ...Object.values(this.data.texts)];
    const rows = (holds) => [...this.data.ids.keys()].filter((row) => cells.some((values) => values[row] !== null && holds(values[row])));
    const any = query.toLowerCase();
    const found = rows((cell) => String(cell) === query);
    if (found.length) return found;
    const inside = rows((cell) => typeof cell === "string" && cell.includes(query));
    return inside.length ? inside : rows((cell) => typeof cell === "string" && cell.toLowerCase().includes(any));
  }

  async describe(rows) {
    return { text: `${rows.length.toLocaleString("en")} of ${this.data.ids.length.toLocaleString("en")} graphs`, facts: [] };
  }

  async export(rows) {
    const names = [...new Set([...Object.keys(this.data.texts), ...this.data.atlas.columns.map((column) => column.name)])];
    const lines = [["id", ...names].map(quote).join(",")];
    for (const row of rows) {
      const record = this.record(row);
      lines.push([record.id, ...names.map((name) => record.columns[name])].map(quote).join(","));
    }
    return new Blob([lines.join("\n") + "\n"], { type: "text/csv" });
  }
}

// A cell of a CSV file; texts that a spreadsheet would run as a formula begin with an apostrophe.
function quote(value) {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") value = JSON.stringify(value);
  const text = /^(\s*[=+\-@]|[\t\r])/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function bytes(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function floats(base64) {
  return new Float32Array(bytes(base64).buffer);
}

// a number that was rounded to 32 bits, with no more digits than it takes to tell it from others
function shortest(value) {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
