// Which device runs each instruction, in the order of the program.
function startSchedule() {
  const { devices } = data.schedule;
  const colours = new Map(devices.map(([name], i) => [name, HUES[i % HUES.length]]));
  const lane = 34, height = devices.length * lane + 30;
  const svg = picture(WIDTH, height, "Devices over the program");
  const left = 130, width = WIDTH - left;
  const x = (i) => left + (i / Math.max(1, data.instructions.length)) * width;
  devices.forEach(([name], row) => {
    svg.append(shape("text", { x: left - 8, y: row * lane + 22, "text-anchor": "end" }, name));
  });
  for (const run of deviceRuns()) {
    const row = devices.findIndex(([name]) => name === run.device);
    const mark = shape("rect", {
      x: x(run.first), y: row * lane + 5, width: Math.max(0.6, x(run.last + 1) - x(run.first) - 0.3), height: lane - 10,
      rx: 2, fill: colours.get(run.device), "data-device": run.device,
    });
    explainOnHover(mark, () => [
      `${run.device}: ${run.count} instructions in a row, ${run.first} to ${run.last}`,
      ...[...run.opcodes].map(([name, count]) => `${count} ${name}`).slice(0, 12),
    ]);
    svg.append(mark);
  }
  for (const value of ticks(data.instructions.length, 10)) {
    svg.append(shape("text", { x: x(value), y: height - 8, class: "muted", "text-anchor": "middle" }, value));
  }
  byId("schedule-chart").replaceChildren(svg);
  byId("schedule-legend").replaceChildren(
    ...devices.map(([name, count, runs]) => swatch(colours.get(name), `${name}: ${count} instructions in ${runs} ${runs === 1 ? "run" : "runs"}`)),
    element("span", {}, "views belong to no device"),
  );
}

/** Neighbouring instructions on one device; views neither count nor part them. */
function deviceRuns() {
  const runs = [];
  data.instructions.forEach(([opcode, , deviceText], i) => {
    const device = text(deviceText);
    if (!device) return;
    let run = runs.at(-1);
    if (run?.device !== device) {
      run = { device, first: i, last: i, count: 0, opcodes: new Map() };
      runs.push(run);
    }
    run.last = i;
    run.count++;
    run.opcodes.set(text(opcode), (run.opcodes.get(text(opcode)) ?? 0) + 1);
  });
  return runs;
}
