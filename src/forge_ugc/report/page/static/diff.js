// Two graphs line by line: what stayed, what is gone, what is new, what reads other nodes now.
const [NAME, OPERATOR, TEXT, MODULE, SOURCE, RULE] = [0, 1, 2, 3, 4, 5];
const INPUTS = "inputs, constants and states";

/**
 * Pairs of lines [left, right] in order; either may be null. Nodes keep their names, so a line of
 * the same name on both sides is the same node.
 */
function align(before, after) {
  const left = before.map((i) => data.graphs.lines[i]), right = after.map((i) => data.graphs.lines[i]);
  const onLeft = new Map(left.map((line) => [line[NAME], line]));
  const onRight = new Set(right.map((line) => line[NAME]));
  const pairs = [], done = new Set();
  let gone = [], fresh = [], i = 0, j = 0;
  while (i < left.length || j < right.length) {
    const a = left[i], b = right[j];
    if (a && done.has(a[NAME])) i++;
    else if (a && !onRight.has(a[NAME])) gone.push(left[i++]);
    else if (b && !onLeft.has(b[NAME])) fresh.push(right[j++]);
    else {
      pairs.push(...beside(gone, fresh));
      gone = [];
      fresh = [];
      // Where the order changed the new one is followed, and the old line is taken from its place.
      pairs.push([onLeft.get(b[NAME]), b]);
      done.add(b[NAME]);
      j++;
    }
  }
  return [...pairs, ...beside(gone, fresh)];
}

/** Lines that are gone beside lines that are new, each layer by itself. */
function beside(gone, fresh) {
  const layers = new Map();
  for (const [side, lines] of [gone, fresh].entries()) {
    for (const line of lines) {
      const key = layerOf(line);
      if (!layers.has(key)) layers.set(key, [[], []]);
      layers.get(key)[side].push(line);
    }
  }
  const pairs = [];
  for (const [a, b] of layers.values()) {
    for (let k = 0; k < Math.max(a.length, b.length); k++) pairs.push([a[k] ?? null, b[k] ?? null]);
  }
  return pairs;
}

/** `model.layers.3` for what lies in it; undefined outside of numbered layers. */
function layerOf(line) {
  if (["input", "const", "state"].includes(text(line[OPERATOR]))) return INPUTS;
  return text(line[MODULE]).match(/^(?:.*?\.)?\d+(?=\.|$)/)?.[0];
}

/** removed, added, replaced (both sides differ by name), rewired (reads other nodes) or same. */
function statusOf([left, right]) {
  if (!right) return "removed";
  if (!left) return "added";
  if (left[NAME] !== right[NAME]) return "replaced";
  return left[TEXT] === right[TEXT] ? "same" : "rewired";
}

/** Sections of pairs by layer. */
function sectionsOf(pairs) {
  const found = new Map();
  let layersBegan = false;
  for (const pair of pairs) {
    const layer = layerOf(pair[1] ?? pair[0]);
    const isLayer = layer !== undefined && layer !== INPUTS;
    layersBegan ||= isLayer;
    const name = layer ?? (layersBegan ? "after or between the layers" : "before the layers");
    if (!found.has(name)) found.set(name, { name, pairs: [], isLayer });
    found.get(name).pairs.push(pair);
  }
  return [...found.values()].map(summarised);
}

function summarised(section) {
  const counts = { removed: 0, added: 0, rewired: 0 };
  const shapes = section.pairs.map((pair) => {
    const status = statusOf(pair);
    if (status === "removed" || status === "replaced") counts.removed++;
    if (status === "added" || status === "replaced") counts.added++;
    if (status === "rewired") counts.rewired++;
    return [status, ...pair.map((line) => (line ? `${text(line[OPERATOR])}${typeOf(line)}` : ""))].join(" ");
  });
  return { ...section, counts, signature: shapes.join("\n"), changed: counts.removed + counts.added + counts.rewired };
}

const typeOf = (line) => text(line[TEXT]).split(" : ").at(-1);

/** Layers in a row that look the same become one group. */
function groupsOf(sections) {
  const groups = [];
  for (const section of sections) {
    const last = groups.at(-1);
    const same = last && section.isLayer && last[0].isLayer && last[0].signature === section.signature;
    if (same) last.push(section);
    else groups.push([section]);
  }
  return groups;
}
