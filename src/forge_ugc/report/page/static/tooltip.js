// One box of text that follows the pointer over marked elements.
const describe = new WeakMap();

/** Show `lines()` while the pointer is over the element. */
function explainOnHover(target, lines) {
  describe.set(target, lines);
  target.setAttribute("data-tip", "");
}

function startTooltip() {
  const box = byId("tooltip");
  document.addEventListener("pointermove", (event) => {
    const target = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    const lines = target ? describe.get(target)().filter(Boolean) : [];
    box.hidden = !lines.length;
    if (!lines.length) return;
    box.textContent = lines.join("\n");
    const { width, height } = box.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
    const top = event.clientY + 14 + height > innerHeight ? event.clientY - 14 - height : event.clientY + 14;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, top)}px`;
  });
  document.addEventListener("pointerleave", () => { box.hidden = true; });
}
