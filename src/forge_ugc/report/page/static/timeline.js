// Phases and passes on a time axis, and what the chosen pass did.
let chosenPass = 0;
const onChoice = [];

/** Choose a run of a pass by its number from 0; -1 stands for all passes together. */
function choosePass(number) {
  chosenPass = number;
  for (const listener of onChoice) listener(number);
}

function startTimeline() {
  const drops = data.passes.map((run) => run.nodes_before - run.nodes_after + run.changed / 1e6);
  chosenPass = drops.length ? drops.indexOf(Math.max(...drops)) : -1;
  const chart = drawTimeline();
  byId("timeline-chart").replaceChildren(chart.svg);
  const rows = listPasses();
  onChoice.push((number) => {
    chart.marks.forEach((mark, i) => mark.classList.toggle("picked", i === number));
    rows.forEach((row, i) => {
      row.classList.toggle("chosen", i === number);
      row.setAttribute("aria-selected", String(i === number));
    });
    showPass(number);
  });
}

function drawTimeline() {
  const svg = picture(WIDTH, 158, "Phases and passes over time");
  const total = data.phases.reduce((sum, [, seconds]) => sum + seconds, 0);
  const scale = (seconds) => (total ? (seconds / total) * WIDTH : 0);
  let at = 0;
  data.phases.forEach(([name, seconds], i) => {
    const x = scale(at), width = Math.max(0.5, scale(seconds) - 1);
    const mark = shape("rect", { x, y: 22, width, height: 30, rx: 2, fill: HUES[i % HUES.length], opacity: 0.85, "data-phase": name });
    explainOnHover(mark, () => [name, `${timeText(seconds)}, ${percentText(total ? seconds / total : 0)} of the compilation`]);
    svg.append(mark);
    label(svg, x, 15, width, `${name} ${timeText(seconds)}`);
    at += seconds;
  });
  for (const value of ticks(total, 8)) {
    svg.append(shape("text", { x: Math.min(scale(value), WIDTH - 40), y: 68, class: "muted" }, timeText(value)));
  }
  const names = data.phases.map(([name, seconds], i) => swatch(HUES[i % HUES.length], `${name} ${timeText(seconds)} (${percentText(total ? seconds / total : 0)})`));
  byId("timeline-legend").replaceChildren(...names, swatch(HUES[0], "pass that rewrote something"), swatch(GREY, "pass that changed nothing"));
  return { svg, marks: drawPasses(svg) };
}

function drawPasses(svg) {
  const total = data.passes.reduce((sum, run) => sum + run.seconds, 0);
  const scale = (seconds) => (total ? (seconds / total) * WIDTH : 0);
  let at = 0, round = 0;
  return data.passes.map((run, i) => {
    const x = scale(at), width = Math.max(0.5, scale(run.seconds) - 1);
    if (run.round !== round) {
      round = run.round;
      svg.append(shape("line", { x1: x, x2: x, y1: 84, y2: 142, class: "axis" }));
      label(svg, x + 2, 152, WIDTH, `round ${round}`, true);
    }
    const mark = shape("rect", {
      x, y: 104, width, height: 30, rx: 2, fill: run.changed ? HUES[0] : GREY,
      opacity: run.changed ? 0.9 : 0.45, "data-act": "", "data-pass": i,
    });
    mark.addEventListener("click", () => choosePass(i));
    explainOnHover(mark, () => [
      `${run.name}, round ${run.round}`, timeText(run.seconds), `${run.changed} rewrites`,
      `${run.nodes_before} → ${run.nodes_after} nodes`,
    ]);
    svg.append(mark);
    label(svg, x, 99, width, run.name);
    at += run.seconds;
    return mark;
  });
}

/** Text that is left out where it has no room: about 6.6 units a letter. */
function label(svg, x, y, room, words, muted = false) {
  if (words.length * 6.6 > room) return;
  svg.append(shape("text", { x: x + 1, y, class: muted ? "muted" : "" }, words));
}

function listPasses() {
  const most = Math.max(1, ...data.passes.map((run) => run.nodes_before));
  const made = table(
    ["pass", "round #", "time #", "rewrites #", "refused #", "nodes #", ""],
    data.passes.map((run) => {
      const bar = element("span", { class: "bar" });
      bar.style.width = `${(run.nodes_after / most) * 3}rem`;
      const refused = run.refused.reduce((sum, group) => sum + group[4], 0);
      return [run.name, run.round, timeText(run.seconds), run.changed, refused || "", `${run.nodes_before} → ${run.nodes_after}`, bar];
    }),
  );
  const rows = [...made.querySelectorAll("tbody tr")];
  rows.forEach((row, i) => {
    row.classList.add("choice");
    row.tabIndex = 0;
    row.dataset.pass = i;
    row.addEventListener("click", () => choosePass(i));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") choosePass(i); });
  });
  byId("timeline-list").replaceChildren(made);
  return rows;
}

function showPass(number) {
  const box = byId("timeline-detail");
  const run = data.passes[number];
  if (!run) {
    box.replaceChildren(element("p", { class: "empty" }, "All passes together: choose one to see what it did."));
    return;
  }
  const parts = [
    element("h3", {}, `${run.name}, round ${run.round}: ${run.changed} rewrites in ${timeText(run.seconds)}`),
  ];
  if (run.max_abs_difference !== null) {
    parts.push(element("p", {}, `Checked: results differ by at most ${run.max_abs_difference.toExponential(1)}.`));
  }
  const changed = run.operators.filter(([, before, after]) => before !== after);
  if (changed.length) {
    const rows = changed.map(([name, before, after]) => [name, before || "", after || "", signed(after - before)]);
    parts.push(element("h3", {}, "Operators"), table(["operator", "before #", "after #", "change #"], rows));
  }
  parts.push(...events("What fired", run.fired, "what stands there now"));
  parts.push(...events("What was refused, and why", run.refused, "reason"));
  if (!run.fired.length && !run.refused.length) {
    parts.push(element("p", { class: "empty" }, "Nothing to rewrite was found."));
  }
  box.replaceChildren(...parts);
}

const signed = (value) => (value > 0 ? `+${value}` : String(value));

function events(title, groups, column) {
  if (!groups.length) return [];
  const rows = groups.map(([rule, what, module, source, count]) => {
    const place = element("span", {}, module, module && source ? element("br") : "", element("span", { class: "place" }, source));
    return [rule, what, place, count];
  });
  return [element("h3", {}, title), table(["rule", column, "module and source line", "count #"], rows)];
}
