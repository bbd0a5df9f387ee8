// What all pictures share: the data, elements, numbers as text, colours.
const data = JSON.parse(document.getElementById("data").textContent);
const text = (number) => data.strings[number];

const byId = (id) => document.getElementById(id);

/** An HTML element; text is never read as markup. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** An SVG element. */
function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** An SVG picture of this size in units; it grows and shrinks with the page. */
function picture(width, height, label) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

const WIDTH = 1200;

function bytesText(bytes) {
  if (bytes < 10000) return `${bytes.toLocaleString("en")} B`;
  for (const [unit, size] of [["KiB", 1024], ["MiB", 1 << 20], ["GiB", 1 << 30]]) {
    if (bytes / size < 1000 || unit === "GiB") return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return "";
}

function timeText(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(seconds < 0.01 ? 2 : 1)} ms`;
  return seconds >= 1e-6 ? `${(seconds * 1e6).toFixed(1)} µs` : `${(seconds * 1e9).toFixed(0)} ns`;
}

const numberText = (value, digits = 1) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });

const percentText = (share) => `${(share * 100).toFixed(1)}%`;

// Eight hues that people with colour blindness can tell apart (Okabe and Ito 2008), and grey.
const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5bbf"];
const GREY = "#8b94a3";

/** Colours by name: the most frequent names get hues, all others are grey. */
function palette(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const colours = new Map(sorted.slice(0, HUES.length).map((name, i) => [name, HUES[i]]));
  return { of: (name) => colours.get(name) ?? GREY, names: sorted, counts, shown: [...colours.keys()] };
}

function showLegend(id, colours, unit) {
  const items = colours.shown.map((name) => swatch(colours.of(name), `${name} (${colours.counts.get(name)})`));
  const rest = colours.names.slice(colours.shown.length);
  if (rest.length) items.push(swatch(GREY, `${rest.length} other ${unit}`));
  byId(id).replaceChildren(...items);
}

function swatch(colour, label) {
  const box = element("i", { class: "swatch" });
  box.style.background = colour;
  return element("span", {}, box, label);
}

/** A table; a column whose title ends in `#` holds numbers. */
function table(titles, rows) {
  const kind = titles.map((title) => (title.endsWith("#") ? "number" : "wrap"));
  const head = titles.map((title, i) => element("th", { class: kind[i] }, title.replace(/ ?#$/, "")));
  const body = rows.map((row) =>
    element("tr", {}, ...row.map((cell, i) => element("td", { class: kind[i] }, cell ?? ""))),
  );
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}

/** Powers of two times 0, 1, 2 and so on, up to a maximum, at most `count` steps of them. */
function byteTicks(maximum, count) {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(maximum / count)));
  return Array.from({ length: Math.floor(maximum / step) + 1 }, (_, i) => i * step);
}

/** Round numbers from 0 to a maximum, about `count` of them. */
function ticks(maximum, count) {
  if (!(maximum > 0)) return [0];
  const raw = maximum / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw);
  return Array.from({ length: Math.floor(maximum / step + 1e-9) + 1 }, (_, i) => i * step);
}
