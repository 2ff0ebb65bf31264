// Points in square cells, so that the nearest of 100,000 is found among a few.

export class Grid {
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
