// Every instruction against what the machine can do (Williams et al. 2009), and a table of kernels.
const ROOF = { left: 80, top: 16, width: WIDTH - 230, height: 400 };
const PRECISIONS = ["f32", "bf16", "i8"];

function startRoofline() {
  const { profile } = data;
  if (!profile) return;
  const { totals } = profile;
  const parts = [
    ["in kernels", totals.kernels_ns], ["in barriers", totals.barriers_ns], ["waking threads and the last barrier", totals.calls_ns],
    ["in host instructions", totals.host_ns], ["in Python", totals.python_ns],
  ].map(([name, ns]) => `${timeText(ns / 1e9)} ${name}`);
  byId("roofline-totals").textContent =
    `${timeText(profile.median_ns / 1e9)} a call (median of ${profile.wall_ns.length}) with ${profile.threads} ${profile.threads === 1 ? "thread" : "threads"}. ` +
    `Mean of the faster half: ${timeText(totals.wall_ns / 1e9)} = ${parts.join(" + ")}.`;
  byId("roofline-kernels").replaceChildren(kernelTable(profile));
  drawRoofline(profile);
}

function kernelTable({ kernels, totals }) {
  const rows = kernels.map((k) => [
    k.name, k.isa, k.steps, timeText(k.time_ns / 1e9), percentText(k.time_ns / totals.wall_ns),
    numberText(k.gflops), numberText(k.gbs), k.roofline_share === null ? "" : percentText(k.roofline_share),
  ]);
  return table(["kernel", "set", "steps #", "time #", "share #", "GFLOP/s #", "GB/s #", "of the roofline #"], rows);
}

/** Instructions of equal shapes and kernels as one point. */
function points(instructions) {
  const found = new Map();
  for (const i of instructions) {
    if (!i.flops || !i.bytes || !i.time_ns) continue;
    const key = `${i.text} ${i.kernels.join(" ")}`;
    const point = found.get(key) ?? { ...i, count: 0, time_ns: 0, flops: 0, bytes: 0 };
    point.count++;
    for (const sum of ["time_ns", "flops", "bytes"]) point[sum] += i[sum];
    found.set(key, point);
  }
  return [...found.values()].sort((a, b) => b.time_ns - a.time_ns);
}

/** The best rate of each precision; that may be a loop of a wider type. */
function peaks(machine) {
  const found = [];
  for (const [i, precision] of PRECISIONS.entries()) {
    const loops = PRECISIONS.slice(0, i + 1).flatMap((kind) => Object.entries(machine.gflops[kind] ?? {}));
    const [isa, rate] = loops.reduce((best, loop) => (loop[1] > best[1] ? loop : best), ["", 0]);
    if (rate && rate !== found.at(-1)?.rate) found.push({ precision, isa, rate });
  }
  return found;
}

function drawRoofline({ instructions, machine, totals }) {
  const shown = points(instructions);
  const kernelOf = (p) => p.kernels.join(" + ") || `${p.opcode} (host)`;
  const roofs = machine ? peaks(machine) : [];
  const box = byId("roofline-chart");
  if (!shown.length) {
    box.replaceChildren(element("p", { class: "empty" }, "No instruction counts operations."));
    return;
  }
  const rates = shown.map((p) => p.flops / p.time_ns), intensities = shown.map((p) => p.flops / p.bytes);
  const ridge = roofs.map((r) => r.rate / machine.read_gbs);
  const xs = decades([...intensities, ...ridge]), ys = decades([...rates, ...roofs.map((r) => r.rate)]);
  const x = (v) => ROOF.left + ((Math.log10(v) - xs[0]) / (xs[1] - xs[0])) * ROOF.width;
  const y = (v) => ROOF.top + ROOF.height * (1 - (Math.log10(v) - ys[0]) / (ys[1] - ys[0]));
  const svg = picture(WIDTH, ROOF.height + 60, "Roofline: rate against operations per byte");
  drawGrid(svg, xs, ys, x, y);
  if (machine) drawRoofs(svg, roofs, machine, xs, ys, x, y);
  const colours = palette(shown.map(kernelOf));
  for (const p of shown) {
    const mark = shape("circle", {
      cx: x(p.flops / p.bytes), cy: y(p.flops / p.time_ns), r: 4 + 26 * Math.sqrt(p.time_ns / totals.wall_ns),
      fill: colours.of(kernelOf(p)), opacity: 0.7, "data-point": "",
    });
    explainOnHover(mark, () => [
      p.text, `${p.count} × ${kernelOf(p)}, ${p.precision}`,
      `${timeText(p.time_ns / 1e9)}, ${percentText(p.time_ns / totals.wall_ns)} of a call`,
      `${numberText(p.flops / p.time_ns)} GFLOP/s, ${numberText(p.bytes / p.time_ns)} GB/s, ${numberText(p.flops / p.bytes, 2)} operations a byte`,
      p.location,
    ]);
    svg.append(mark);
  }
  box.replaceChildren(svg);
  showLegend("roofline-legend", colours, "kernels");
  byId("roofline-legend").append(element("span", {}, "area: share of the time; instructions without operations are not shown"));
}

/** The powers of ten around all values. */
function decades(values) {
  const logs = values.map(Math.log10);
  return [Math.floor(Math.min(...logs)), Math.max(Math.ceil(Math.max(...logs)), Math.floor(Math.min(...logs)) + 1)];
}

function drawGrid(svg, xs, ys, x, y) {
  const bottom = ROOF.top + ROOF.height, right = ROOF.left + ROOF.width;
  for (let power = xs[0]; power <= xs[1]; power++) {
    const at = x(10 ** power);
    svg.append(shape("line", { x1: at, x2: at, y1: ROOF.top, y2: bottom, class: "axis" }));
    svg.append(shape("text", { x: at, y: bottom + 18, "text-anchor": "middle", class: "muted" }, 10 ** power));
  }
  for (let power = ys[0]; power <= ys[1]; power++) {
    const at = y(10 ** power);
    svg.append(shape("line", { x1: ROOF.left, x2: right, y1: at, y2: at, class: "axis" }));
    svg.append(shape("text", { x: ROOF.left - 8, y: at + 4, "text-anchor": "end", class: "muted" }, 10 ** power));
  }
  svg.append(shape("text", { x: right, y: bottom + 38, "text-anchor": "end", class: "muted" }, "operations a byte"));
  svg.append(shape("text", { x: ROOF.left + 6, y: ROOF.top + 12, class: "muted" }, "GFLOP/s"));
}

function drawRoofs(svg, roofs, machine, xs, ys, x, y) {
  const low = 10 ** ys[0], right = 10 ** xs[1], highest = Math.max(...roofs.map((r) => r.rate));
  const start = Math.max(10 ** xs[0], low / machine.read_gbs), ridge = highest / machine.read_gbs;
  const style = { stroke: "var(--text)", "stroke-width": 1.5, fill: "none", "data-roof": "" };
  svg.append(shape("line", { ...style, x1: x(start), y1: y(start * machine.read_gbs), x2: x(ridge), y2: y(highest) }));
  svg.append(shape("text", { x: x(start) + 36, y: y(start * machine.read_gbs) + 6 }, `${numberText(machine.read_gbs)} GB/s read`));
  for (const { precision, isa, rate } of roofs) {
    svg.append(shape("line", { ...style, x1: x(rate / machine.read_gbs), y1: y(rate), x2: x(right), y2: y(rate) }));
    svg.append(shape("text", { x: x(right) + 6, y: y(rate) + 4 }, `${precision} ${numberText(rate, 0)} (${isa})`));
  }
}
