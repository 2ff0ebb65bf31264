// Colours of points: a few that differ for classes, a scale for numbers. Readable in light and dark.

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
