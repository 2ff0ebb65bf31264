// The map: all graphs as points, drawn by WebGL; pan, zoom, pick, lasso. Knows nothing of graphs.

const MARGIN = 54; // pixels at each edge of a map that shows all, for the buttons and the line below
const TRAVEL = 350; // milliseconds
const CALM = 150; // milliseconds without motion, after which every point is drawn
const SLOW = 45; // milliseconds between frames that are too many: fewer points while the map moves
const FEWEST = 5000;

const VERTEX = `#version 300 es
in vec2 place; in float shade; in float state;
uniform vec2 scale; uniform vec2 shift; uniform float size; uniform sampler2D colours; uniform float faded; uniform float turn;
out vec4 tint;
void main() {
  bool chosen = state > 0.5;
  gl_Position = chosen == (turn > 0.5) ? vec4(place * scale + shift, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = size * (chosen ? 1.5 : 1.0);
  vec4 colour = texture(colours, vec2(shade, 0.5));
  tint = vec4(colour.rgb, faded > 0.5 && !chosen ? 0.12 : colour.a);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint; out vec4 shown;
void main() {
  float r = length(gl_PointCoord - 0.5);
  if (r > 0.5) discard;
  shown = vec4(tint.rgb, tint.a * smoothstep(0.5, 0.42, r));
}`;

export class PointMap {
  constructor(canvas) {
    this.canvas = canvas;
    canvas.addEventListener("webglcontextlost", () => location.reload());
    const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser has no WebGL 2, which the map needs.");
    this.gl = gl;
    this.program = link(gl);
    this.buffers = { place: gl.createBuffer(), shade: gl.createBuffer(), state: gl.createBuffer() };
    this.order = gl.createBuffer();
    this.texture = gl.createTexture();
    this.n = 0;
    this.centre = [0, 0];
    this.zoom = this.home();
    this.faded = false;
    this.painted = -Infinity;
    this.onmove = () => {};
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  setPoints(points) {
    this.points = points;
    this.n = points.length / 2;
    this.state = new Float32Array(this.n);
    this.upload("place", points, 2);
    this.upload("state", this.state, 1);
    this.upload("shade", new Float32Array(this.n), 1);
    this.gl.bindBuffer(this.gl.ELEMENT_ARRAY_BUFFER, this.order);
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, shuffled(this.n), this.gl.STATIC_DRAW);
    this.most = this.n;
    this.grid = new Grid(points);
    this.resize();
  }

  // shades: a place in the palette in [0, 1] for every point; palette: RGBA bytes of 256 colours
  setColours(shades, palette) {
    const gl = this.gl;
    this.upload("shade", shades, 1);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    this.draw();
  }

  // rows stand out; all others fade
  select(rows) {
    this.state.fill(0);
    for (const row of rows) this.state[row] = 1;
    this.faded = rows.length > 0;
    this.upload("state", this.state, 1);
    this.draw();
  }

  upload(name, values, width) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    const at = gl.getAttribLocation(this.program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, width, gl.FLOAT, false, 0, 0);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.draw();
  }

  draw() {
    if (this.waiting || !this.n) return;
    this.waiting = true;
    const moves = performance.now() - this.painted < CALM;
    requestAnimationFrame((now) => {
      this.waiting = false;
      this.paint(moves ? this.bearable(now) : this.n);
      this.onmove();
      this.frame = now;
      this.painted = performance.now();
    });
  }

  // how many points a map that moves can have without stutter: all, unless the last frames took long
  bearable(now) {
    const took = now - this.frame;
    if (took > SLOW) this.most = Math.max(Math.min(this.n, FEWEST), Math.round((this.most * SLOW) / (1.5 * took)));
    else if (took < SLOW / 2) this.most = Math.min(this.n, Math.round(this.most * 1.2));
    clearTimeout(this.calm);
    if (this.most < this.n) this.calm = setTimeout(() => this.paint(this.n), CALM);
    return this.most;
  }

  paint(n) {
    const gl = this.gl;
    const [sx, sy] = this.scale();
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniform2f(gl.getUniformLocation(this.program, "scale"), sx, sy);
    gl.uniform2f(gl.getUniformLocation(this.program, "shift"), -this.centre[0] * sx, -this.centre[1] * sy);
    gl.uniform1f(gl.getUniformLocation(this.program, "size"), this.size());
    gl.uniform1f(gl.getUniformLocation(this.program, "faded"), this.faded ? 1 : 0);
    for (const turn of this.faded ? [0, 1] : [0]) {  // those that stand out lie above the others
      gl.uniform1f(gl.getUniformLocation(this.program, "turn"), turn);
      gl.drawElements(gl.POINTS, n, gl.UNSIGNED_INT, 0);
    }
  }

  size() {
    const ratio = window.devicePixelRatio || 1;
    const crowd = Math.sqrt((this.canvas.width * this.canvas.height) / this.n) * 0.28;
    return Math.min(13 * ratio, Math.max(2 * ratio, Math.min(10 * ratio, crowd) * Math.sqrt(this.zoom)));
  }

  scale() {
    const short = Math.min(this.canvas.width, this.canvas.height);
    return [(this.zoom * short) / this.canvas.width, (this.zoom * short) / this.canvas.height];
  }

  // the zoom that shows all points, and none below the buttons
  home() {
    const short = Math.min(this.canvas.clientWidth, this.canvas.clientHeight);
    return Math.max(0.5, 1 - (2 * MARGIN) / Math.max(1, short));
  }

  // from pixels of the page to places of the map, and back
  toMap(x, y) {
    const [sx, sy] = this.scale();
    const u = (2 * x) / this.canvas.clientWidth - 1;
    const v = 1 - (2 * y) / this.canvas.clientHeight;
    return [u / sx + this.centre[0], v / sy + this.centre[1]];
  }

  toPage(x, y) {
    const [sx, sy] = this.scale();
    const u = (x - this.centre[0]) * sx;
    const v = (y - this.centre[1]) * sy;
    return [((u + 1) * this.canvas.clientWidth) / 2, ((1 - v) * this.canvas.clientHeight) / 2];
  }

  place(row) {
    return [this.points[2 * row], this.points[2 * row + 1]];
  }

  pick(x, y, reach = 10) {
    const [px, py] = this.toMap(x, y);
    const [qx] = this.toMap(x + reach, y);
    return this.grid.nearest(px, py, Math.abs(qx - px));
  }

  within(polygon) {
    return this.grid.inside(polygon);
  }

  pan(dx, dy) {
    this.flight = null;
    const a = this.toMap(0, 0);
    const b = this.toMap(dx, dy);
    this.centre = [this.centre[0] + a[0] - b[0], this.centre[1] + a[1] - b[1]];
    this.draw();
  }

  zoomAt(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    this.flight = null;
    const before = this.toMap(x, y);
    this.zoom = Math.min(400, Math.max(0.3, this.zoom * factor));
    const after = this.toMap(x, y);
    this.centre = [this.centre[0] + before[0] - after[0], this.centre[1] + before[1] - after[1]];
    this.draw();
  }

  // a short flight, so that people see where they go; at once for those who want no motion
  goTo(x, y, zoom = this.zoom) {
    const from = [...this.centre, Math.log(this.zoom)];
    const to = [x, y, Math.log(zoom)];
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const flight = (this.flight = {});
    const began = performance.now();
    const step = (now) => {
      if (this.flight !== flight) return;
      const share = calm ? 1 : Math.min(1, Math.max(0, now - began) / TRAVEL);
      const eased = share * share * (3 - 2 * share);
      const at = from.map((value, i) => value + (to[i] - value) * eased);
      this.centre = [at[0], at[1]];
      this.zoom = Math.exp(at[2]);
      this.draw();
      if (share < 1) requestAnimationFrame(step);
    };
    step(began);
  }

  // only as far as needed: a point that is seen well stays where it is
  reveal(x, y) {
    const [px, py] = this.toPage(x, y);
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (px > 0.02 * w && px < 0.98 * w && py > 0.02 * h && py < 0.98 * h) this.draw();
    else this.goTo(x, y);
  }

  reset() {
    this.goTo(0, 0, this.home());
  }
}

// all rows in one random order: the first so many of them look like all
function shuffled(n) {
  const rows = Uint32Array.from({ length: n }, (_, row) => row);
  let seed = 1;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 2 ** 32) * (i + 1));
    [rows[i], rows[j]] = [rows[j], rows[i]];
  }
  return rows;
}

function link(gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "WebGL");
  gl.useProgram(program);
  return program;
}

// Points in square cells, so that the nearest of 100,000 is found among a few.

class Grid {
  constructor(points) {
    this.points = points;
    const n = points.length / 2;
    this.side = Math.max(1, Math.min(512, Math.round(Math.sqrt(n / 2))));
    this.start = new Uint32Array(this.side * this.side + 1);
    const cells = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      cells[i] = this.cell(points[2 * i], points[2 * i + 1]);
      this.start[cells[i] + 1]++;
    }
    for (let c = 0; c < this.side * this.side; c++) this.start[c + 1] += this.start[c];
    this.rows = new Uint32Array(n);
    const next = this.start.slice();
    for (let i = 0; i < n; i++) this.rows[next[cells[i]]++] = i;
  }

  index(value) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(((value + 1) / 2) * this.side)));
  }

  cell(x, y) {
    return this.index(y) * this.side + this.index(x);
  }

  nearest(x, y, reach) {
    let best = -1;
    let least = reach * reach;
    for (let j = this.index(y - reach); j <= this.index(y + reach); j++) {
      for (let i = this.index(x - reach); i <= this.index(x + reach); i++) {
        const c = j * this.side + i;
        for (let k = this.start[c]; k < this.start[c + 1]; k++) {
          const row = this.rows[k];
          const dx = this.points[2 * row] - x;
          const dy = this.points[2 * row + 1] - y;
          if (dx * dx + dy * dy <= least) [best, least] = [row, dx * dx + dy * dy];
        }
      }
    }
    return best;
  }

  inside(polygon) {
    const found = [];
    for (let row = 0; row < this.points.length / 2; row++) {
      if (contains(polygon, this.points[2 * row], this.points[2 * row + 1])) found.push(row);
    }
    return found;
  }
}

function contains(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [ax, ay] = polygon[i];
    const [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}
