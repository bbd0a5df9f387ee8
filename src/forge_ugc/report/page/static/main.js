// Draw everything.
startTooltip();
startTimeline();
startGraphs();
startArena();
startSchedule();
startRoofline();
startFloorplan();
choosePass(chosenPass);
byId("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.style.colorScheme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.style.colorScheme = dark ? "light" : "dark";
});
