// The arena: registers as rectangles of lifetime by bytes.
const ARENA = { left: 90, top: 26, width: WIDTH - 100, height: 380 };

function startArena() {
  const { rows } = data.arena;
  const box = byId("arena-chart");
  if (!rows.length) {
    box.replaceChildren(element("p", { class: "empty" }, "The program needs no arena: no result is kept between instructions."));
    return;
  }
  const writer = (row) => text(data.instructions[row[2]][0]);
  const colours = palette(rows.map(writer));
  const all = [0, data.instructions.length];
  const draw = (range) => {
    const svg = drawArena(range, (row) => colours.of(writer(row)));
    dragToZoom(svg, range, draw);
    svg.addEventListener("dblclick", () => draw(all));
    box.replaceChildren(svg);
  };
  draw(all);
  showLegend("arena-legend", colours, "operators");
}

function drawArena([from, to], colourOf) {
  const { rows, peak_bytes: peak, lower_bound_bytes: bound, strategy } = data.arena;
  const svg = picture(WIDTH, ARENA.height + 70, "Registers in the arena over time");
  const top = Math.max(peak, bound, 1) * 1.04;
  const x = (instruction) => ARENA.left + ((instruction - from) / (to - from)) * ARENA.width;
  const y = (bytes) => ARENA.top + ARENA.height * (1 - bytes / top);
  for (const bytes of byteTicks(top, 6)) {
    svg.append(shape("line", { x1: ARENA.left, x2: WIDTH, y1: y(bytes), y2: y(bytes), class: "axis" }));
    svg.append(shape("text", { x: ARENA.left - 6, y: y(bytes) + 4, "text-anchor": "end", class: "muted" }, bytesText(bytes)));
  }
  for (const row of rows) {
    const [register, , first, last, offset, size] = row;
    if (last < from || first >= to) continue;
    const start = x(Math.max(first, from)), end = x(Math.min(last + 1, to));
    const mark = shape("rect", {
      x: start, y: y(offset + size), width: Math.max(0.6, end - start - 0.3), height: Math.max(0.6, y(offset) - y(offset + size)),
      fill: colourOf(row), opacity: 0.8, "data-register": register,
    });
    explainOnHover(mark, () => arenaLines(row));
    svg.append(mark);
  }
  limit(svg, y(peak), `peak ${bytesText(peak)} (${strategy})`, "#d55e00", y(peak) - 5, "end");
  limit(svg, y(bound), `lower bound ${bytesText(bound)}: the largest live set`, "#009e73", y(bound) - 5, "start");
  for (const value of ticks(to - from, 10)) {
    svg.append(shape("text", { x: x(from + value), y: ARENA.top + ARENA.height + 18, "text-anchor": "middle", class: "muted" }, Math.round(from + value)));
  }
  svg.append(shape("text", { x: ARENA.left, y: ARENA.top + ARENA.height + 38, class: "muted" }, "instruction →"));
  return svg;
}

function limit(svg, y, words, colour, textY, side) {
  svg.append(shape("line", { x1: ARENA.left, x2: WIDTH, y1: y, y2: y, stroke: colour, "stroke-width": 1.5, "stroke-dasharray": "6 4" }));
  const label = shape("text", { x: side === "end" ? WIDTH - 4 : ARENA.left + 4, y: textY, "text-anchor": side }, words);
  label.style.cssText = "paint-order: stroke; stroke: var(--panel); stroke-width: 4px";
  svg.append(label);
}

function arenaLines([register, type, first, last, offset, size, buffer]) {
  const [, instruction, , module, source] = data.instructions[first];
  const until = last === data.instructions.length ? "the stores at the end" : last;
  return [
    `%${register} : ${text(type)}`,
    `instruction ${first}: ${text(instruction)}`,
    `needed from ${first} to ${until}`,
    `buffer ${buffer} at ${offset.toLocaleString("en")}, ${size.toLocaleString("en")} B`,
    [text(module), text(source)].filter(Boolean).join("  "),
  ];
}

/** Drag over the picture to see that range of instructions alone. */
function dragToZoom(svg, [from, to], draw) {
  let start = null, frame = null;
  const place = (event) => {
    const { left, width } = svg.getBoundingClientRect();
    return Math.min(WIDTH, Math.max(ARENA.left, ((event.clientX - left) / width) * WIDTH));
  };
  svg.addEventListener("pointerdown", (event) => {
    start = place(event);
    frame = shape("rect", { y: ARENA.top, height: ARENA.height, fill: "var(--accent)", opacity: 0.2, "pointer-events": "none" });
  });
  svg.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const now = place(event);
    frame.setAttribute("x", Math.min(start, now));
    frame.setAttribute("width", Math.abs(now - start));
    if (!frame.isConnected) svg.append(frame);
  });
  svg.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const ends = [start, place(event)].sort((a, b) => a - b);
    const [a, b] = ends.map((px) => from + ((px - ARENA.left) / ARENA.width) * (to - from));
    const wide = ends[1] - ends[0] > 6;
    start = null;
    frame.remove();
    if (wide) draw([Math.floor(a), Math.max(Math.ceil(b), Math.floor(a) + 2)]);
  });
  svg.addEventListener("pointerleave", () => { start = null; frame?.remove(); });
}
