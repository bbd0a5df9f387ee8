// The array of tiles of a spatial target.
function startFloorplan() {
  const plan = data.floorplan;
  if (!plan) return;
  const size = Math.max(14, Math.min(70, (WIDTH - 40) / plan.columns));
  const svg = picture(plan.columns * size + 40, plan.rows * size + 40, "Tiles of the array");
  svg.style.maxWidth = `${plan.columns * size + 40}px`;
  const x = (column) => 30 + column * size, y = (row) => (plan.rows - 1 - row) * size + 6;
  for (let column = 0; column < plan.columns; column++) {
    svg.append(shape("text", { x: x(column) + size / 2, y: plan.rows * size + 24, "text-anchor": "middle", class: "muted" }, column));
    for (let row = 0; row < plan.rows; row++) {
      svg.append(shape("rect", { x: x(column), y: y(row), width: size - 3, height: size - 3, rx: 3, class: "axis" }));
    }
  }
  for (let row = 0; row < plan.rows; row++) {
    svg.append(shape("text", { x: 22, y: y(row) + size / 2 + 4, "text-anchor": "end", class: "muted" }, row));
  }
  const colours = palette(plan.tiles.map((tile) => tile.kernel || tile.kind));
  for (const tile of plan.tiles) {
    const mark = shape("rect", {
      x: x(tile.column), y: y(tile.row), width: size - 3, height: size - 3, rx: 3,
      fill: colours.of(tile.kernel || tile.kind), opacity: 0.85, "data-tile": `${tile.column},${tile.row}`,
    });
    explainOnHover(mark, () => [
      `tile (${tile.column}, ${tile.row}), ${tile.kind}`, tile.kernel,
      tile.instruction !== null && `instruction ${tile.instruction}: ${text(data.instructions[tile.instruction][1])}`,
      tile.memory_bytes && `${bytesText(tile.used_bytes)} of ${bytesText(tile.memory_bytes)}`,
    ]);
    svg.append(mark);
  }
  for (const [source, sink] of plan.streams) {
    const [a, b] = [plan.tiles[source], plan.tiles[sink]];
    svg.append(shape("line", {
      x1: x(a.column) + size / 2, y1: y(a.row) + size / 2, x2: x(b.column) + size / 2, y2: y(b.row) + size / 2,
      stroke: "var(--text)", opacity: 0.6, "pointer-events": "none",
    }));
  }
  byId("floorplan-chart").replaceChildren(svg, element("div", { class: "legend", id: "floorplan-legend" }));
  showLegend("floorplan-legend", colours, "kinds");
}
