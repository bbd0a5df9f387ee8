// The graph before and after a pass, side by side, folded by layer.
const MOST_ROWS = 2000;
const openFolds = new Set();
let step = null;

function startGraphs() {
  const select = byId("graphs-pass");
  if (!select) return;
  const entries = [["-1", "all passes together"]];
  data.passes.forEach((run, i) => entries.push([String(i), `${run.name}, round ${run.round} (${run.changed} rewrites)`]));
  select.replaceChildren(...entries.map(([value, label]) => element("option", { value }, label)));
  select.addEventListener("change", () => choosePass(Number(select.value)));
  for (const id of ["graphs-search", "graphs-changed"]) byId(id).addEventListener("input", showGraphs);
  byId("graphs-open").addEventListener("click", () => {
    for (const group of step.groups) [restKey(group), ...group.map((s) => s.name)].forEach((key) => openFolds.add(key));
    showGraphs();
  });
  byId("graphs-close").addEventListener("click", () => { openFolds.clear(); showGraphs(); });
  onChoice.push((number) => { select.value = String(number); prepareStep(number); showGraphs(); });
  linkReplacements();
}

function prepareStep(number) {
  const { before, after, replaced } = data.graphs.steps[number + 1];
  const sections = sectionsOf(align(data.graphs.graphs[before], data.graphs.graphs[after]));
  const present = new Map(data.graphs.graphs[after].map((i) => [data.graphs.lines[i][NAME], data.graphs.lines[i]]));
  const by = new Map(replaced);
  const rules = [];
  for (const { pairs } of sections) {
    for (const [left, right] of pairs) if (right && left?.[NAME] !== right[NAME]) rules.push(text(right[RULE]) || "new");
  }
  step = { groups: groupsOf(sections), by, present, colours: palette(rules) };
  const first = step.groups.find((group) => group[0].isLayer && group[0].changed) ?? step.groups.find((group) => group[0].changed);
  openFolds.clear();
  if (first) openFolds.add(first[0].name);
}

const restKey = (group) => `more like ${group[0].name}`;

function showGraphs() {
  const wanted = byId("graphs-search").value.trim().toLowerCase();
  const changedOnly = byId("graphs-changed").checked && !wanted;
  const budget = { rows: MOST_ROWS };
  const view = { wanted, changedOnly, budget };
  const folds = step.groups.flatMap((group) => groupFolds(group, view)).filter(Boolean);
  if (!folds.length) {
    const words = wanted ? `No line holds “${wanted}”.` : "This pass left the graph as it was.";
    folds.push(element("p", { class: "empty" }, words));
  }
  if (budget.rows <= 0) folds.push(element("p", { class: "warn-text" }, `Only the first ${MOST_ROWS} lines are shown: close folds or search.`));
  byId("graphs-view").replaceChildren(...folds);
  showLegend("graphs-legend", step.colours, "rules");
  byId("graphs-legend").append(element("span", {}, "same colour: what a rule made, and what it replaced; point at a line to see its counterpart"));
}

/** The first layer of those that look alike, then the others as one fold. */
function groupFolds([first, ...others], view) {
  const folds = [sectionFold(first, view)];
  if (!others.length || (view.changedOnly && !first.changed)) return folds;
  const key = restKey([first, ...others]);
  const found = view.wanted || openFolds.has(key) ? others.map((section) => sectionFold(section, view)).filter(Boolean) : [];
  if (view.wanted && !found.length) return folds;
  const title = `${others[0].name} … ${others.at(-1).name}: ${others.length} more like ${first.name}`;
  return [...folds, fold(key, others.length > 1 ? title : `${others[0].name}: like ${first.name}`, first, found, Boolean(view.wanted))];
}

function sectionFold(section, view) {
  if (view.changedOnly && !section.changed) return null;
  let pairs = section.pairs;
  if (view.wanted) {
    pairs = pairs.filter((pair) => pair.some((line) => line && [TEXT, MODULE].some((f) => text(line[f]).toLowerCase().includes(view.wanted))));
    if (!pairs.length) return null;
  } else if (view.changedOnly) pairs = pairs.filter((pair) => statusOf(pair) !== "same");
  const open = Boolean(view.wanted) || openFolds.has(section.name);
  const rows = [];
  for (const pair of open ? pairs : []) if (view.budget.rows-- > 0) rows.push(pairRow(pair));
  return fold(section.name, section.name, section, rows, Boolean(view.wanted));
}

function fold(key, title, { counts, pairs }, inside, forced = false) {
  const open = forced || openFolds.has(key);
  const left = pairs.filter((pair) => pair[0]).length, right = pairs.filter((pair) => pair[1]).length;
  const words = [`${left} → ${right} nodes`];
  for (const [name, count] of Object.entries(counts)) if (count) words.push(`${count} ${name}`);
  const button = element("button", { type: "button", "aria-expanded": String(open), "data-fold": key },
    open ? "▾" : "▸", element("span", {}, title), element("span", { class: "counts" }, words.join(" · ")));
  button.addEventListener("click", () => {
    if (!openFolds.delete(key)) openFolds.add(key);
    showGraphs();
  });
  return element("div", { class: open ? "fold open" : "fold" }, button, ...inside);
}

function pairRow(pair) {
  const status = statusOf(pair);
  const [left, right] = pair;
  const cells = { same: ["", ""], rewired: ["rewired", "rewired"] }[status] ?? ["removed", "added"];
  return element("div", { class: "pair" }, lineCell(left, left ? cells[0] : ""), lineCell(right, right ? cells[1] : ""));
}

function lineCell(line, kind) {
  if (!line) return element("div");
  const cell = element("div", { class: kind, "data-node": text(line[NAME]) });
  if (kind === "added" || kind === "removed") {
    const target = kind === "removed" ? step.by.get(line[NAME]) : line[NAME];
    const maker = target === undefined ? undefined : step.present.get(target);
    const rule = maker && text(maker[RULE]);
    if (maker) {
      cell.dataset.group = text(target);
      cell.style.borderLeftColor = step.colours.of(rule || "new");
    }
    const note = kind === "added" ? rule : maker ? `→ %${text(target)}` : "removed";
    if (note) cell.append(element("span", { class: "tag" }, note));
  }
  cell.append(text(line[TEXT]));
  explainOnHover(cell, () => [text(line[MODULE]), text(line[SOURCE]), text(line[RULE]) && `made by ${text(line[RULE])}`]);
  return cell;
}

/** Pointing at a line frames what it was replaced by, or what it replaced. */
function linkReplacements() {
  const view = byId("graphs-view");
  view.addEventListener("pointerover", (event) => {
    const group = event.target instanceof Element && event.target.closest("[data-group]")?.dataset.group;
    for (const cell of view.querySelectorAll("[data-group]")) cell.classList.toggle("linked", cell.dataset.group === group);
  });
}
