// Bitrate chart and distributions: prebuilt figures, chosen by metric; families can be hidden or brought out.

const FADED = 0.12;

function setUpRateChart(panel, payload) {
  const element = panel.querySelector('[data-chart="rate"]');
  const picker = panel.querySelector('[data-picker="rate"]');
  const across = panel.querySelector('[data-picker="across"]'); // where some codec has tokens
  const hidden = new Set();
  let pointedAt = null; // family whose button has the pointer or the focus
  const show = () =>
    draw(element, () => {
      const figure = (across?.value ? payload.rate_tokens : payload.rate)[picker.value];
      const faded = (family) => pointedAt !== null && !hidden.has(pointedAt) && family !== pointedAt;
      const data = figure.data.map((trace) => ({
        ...trace,
        visible: !hidden.has(trace.meta.family),
        opacity: faded(trace.meta.family) ? FADED : 1,
      }));
      return { ...figure, data };
    });
  picker.addEventListener("change", show);
  across?.addEventListener("change", show);
  for (const button of panel.querySelectorAll("[data-family]")) {
    button.addEventListener("click", () => {
      const family = button.dataset.family;
      if (!hidden.delete(family)) hidden.add(family);
      button.setAttribute("aria-pressed", String(!hidden.has(family)));
      show();
    });
  }
  const legend = panel.querySelector(".legend");
  const point = (event, family) => {
    if (event.pointerType === "touch" || family === pointedAt) return; // a finger points at nothing
    if (event.type === "focusin" && !event.target.matches(":focus-visible")) return;
    pointedAt = family;
    show();
  };
  for (const name of ["pointerover", "focusin"])
    legend.addEventListener(name, (event) => point(event, event.target.closest("button")?.dataset.family ?? null));
  for (const name of ["pointerleave", "focusout"]) legend.addEventListener(name, (event) => point(event, null));
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

// A prebuilt figure, chosen by name and, where some codec has tokens, by axis.
function setUpFigure(element, figures) {
  const picker = document.getElementById(element.dataset.figure);
  const across = document.getElementById(`${element.dataset.figure}-across`);
  const show = () => draw(element, () => figures[across?.value ? `${picker.value}-${across.value}` : picker.value]);
  picker.addEventListener("change", show);
  across?.addEventListener("change", show);
  show();
}
