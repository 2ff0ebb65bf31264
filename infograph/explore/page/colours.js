// Colours of points: a few that differ for classes, a scale for numbers. Readable in light and dark.

const CLASSES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a5bd1", "#a3843b", "#6b8e23", "#b03060"];
const OTHER = "#9aa0a6";
const SCALE = ["#440154", "#46307e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];

// { shades, palette, legend }: a place in the palette per point, 256 colours, and lines for people.
export function colouring(column, values) {
  if (!column) return plain(values.length);
  return column.kind === "category" ? classes(column, values) : numbers(column, values);
}

function plain(n) {
  return { shades: new Float32Array(n).fill(0.5 / 256), palette: paletteOf([CLASSES[0]]), legend: [] };
}

function classes(column, codes) {
  const counts = column.counts;
  const order = column.categories.map((_, code) => code).sort((a, b) => counts[b] - counts[a]);
  const shown = order.slice(0, CLASSES.length);
  const place = new Map(shown.map((code, at) => [code, at]));
  const shades = Float32Array.from(codes, (code) => ((place.has(code) ? place.get(code) : CLASSES.length) + 0.5) / 256);
  const legend = shown.map((code, at) => ({ colour: CLASSES[at], text: column.categories[code], count: counts[code], code }));
  const rest = order.slice(CLASSES.length).reduce((sum, code) => sum + counts[code], 0) + column.missing;
  if (rest) legend.push({ colour: OTHER, text: order.length > shown.length ? "others" : "missing", count: rest });
  return { shades, palette: paletteOf([...CLASSES, OTHER]), legend };
}

function numbers(column, values) {
  const span = column.max - column.min || 1;
  const shades = Float32Array.from(values, (value) =>
    Number.isNaN(value) ? 255.5 / 256 : (Math.min(1, Math.max(0, (value - column.min) / span)) * 254 + 0.5) / 256,
  );
  const steps = Array.from({ length: 255 }, (_, at) => between(at / 254));
  const legend = [{ scale: SCALE, least: column.min, most: column.max, unit: column.unit || "" }];
  if (column.missing) legend.push({ colour: OTHER, text: "missing", count: column.missing });
  return { shades, palette: paletteOf([...steps, OTHER]), legend };
}

function between(share) {
  const at = share * (SCALE.length - 1);
  const low = Math.min(SCALE.length - 2, Math.floor(at));
  const [a, b] = [rgb(SCALE[low]), rgb(SCALE[low + 1])];
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
