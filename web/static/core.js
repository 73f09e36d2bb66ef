// Data of the page, and drawing in the colours and the size of the screen.

const report = JSON.parse(await unpacked("report-data"));
const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const narrowScreen = matchMedia("(max-width: 40rem)");
const coarsePointer = matchMedia("(pointer: coarse)");
const darkOf = new Map(report.themes.light.map((colour, index) => [colour, report.themes.dark[index]]));
const redrawers = new Map(); // chart element -> function that draws it anew
let printing = false;

// Plotly reads tags and entities in texts: a name must stay a name.
const plain = (name) =>
  Array.from(name, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter] ?? (letter < " " ? " " : letter)).join("");

function recoloured(value, colours) {
  if (typeof value === "string") return colours.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => recoloured(item, colours));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, recoloured(item, colours)]));
}

function fitted(figure) {
  const dark = darkScheme.matches && !printing;
  const copy = recoloured(figure, dark ? darkOf : new Map());
  copy.layout.dragmode = coarsePointer.matches ? false : "zoom"; // a finger scrolls the page
  if (narrowScreen.matches) {
    copy.data = copy.data.filter((trace) => trace.meta?.role !== "names"); // no room for them
    copy.layout.margin = { ...copy.layout.margin, l: Math.min(copy.layout.margin.l, 40), r: 8 };
    for (const axis of [copy.layout.xaxis, copy.layout.yaxis]) if (axis?.title) axis.title.font.size = 12;
  }
  return copy;
}

const isShown = (element) => element.closest(".panel").classList.contains("current");

// Draw now if the chart can be seen, and again whenever the screen asks for it.
function draw(element, makeFigure) {
  const redraw = () => {
    if (!window.Plotly || !isShown(element)) return undefined;
    const figure = fitted(makeFigure());
    return Plotly.react(element, figure.data, figure.layout, { displayModeBar: false, responsive: true });
  };
  redrawers.set(element, redraw);
  redraw();
}

const redrawAll = () => redrawers.forEach((redraw) => redraw());

function printSize(width) {
  for (const element of redrawers.keys()) {
    if (!window.Plotly || !isShown(element)) continue;
    element.style.width = width;
    Plotly.Plots.resize(element);
  }
}
