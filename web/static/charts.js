// Bitrate chart and distributions: prebuilt figures, chosen by metric; families can be hidden.

function setUpRateChart(panel, payload) {
  const element = panel.querySelector('[data-chart="rate"]');
  const picker = panel.querySelector('[data-picker="rate"]');
  const hidden = new Set();
  const show = () =>
    draw(element, () => {
      const figure = payload.rate[picker.value];
      const data = figure.data.map((trace) => ({ ...trace, visible: !hidden.has(trace.meta.family) }));
      return { ...figure, data };
    });
  picker.addEventListener("change", show);
  for (const button of panel.querySelectorAll("[data-family]")) {
    button.addEventListener("click", () => {
      const family = button.dataset.family;
      if (!hidden.delete(family)) hidden.add(family);
      button.setAttribute("aria-pressed", String(!hidden.has(family)));
      show();
    });
  }
  show();
}

function setUpSpread(panel, payload) {
  const element = panel.querySelector('[data-chart="spread"]');
  if (!element) return;
  const picker = panel.querySelector('[data-picker="spread"]');
  const show = () => draw(element, () => payload.spread[picker.value]);
  picker.addEventListener("change", show);
  show();
}
