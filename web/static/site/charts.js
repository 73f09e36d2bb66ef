// Draws every element with data-figure (the address of a Plotly figure as JSON) when it comes into view, in the
// colours of the page and anew when they change. Plotly itself is fetched with the first chart that is seen.
// A select with data-chart="<id of the element>" holds such addresses and chooses among them.

(() => {
  const { plotly: plotlyUrl, light, dark, symbols } = document.currentScript.dataset;
  const SYMBOLS = JSON.parse(symbols); // SVG paths by Plotly's names
  const darkColours = dark.split(" ");
  const darkOf = new Map(light.split(" ").map((colour, index) => [colour, darkColours[index]]));
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  const narrowScreen = matchMedia("(max-width: 40rem)");
  const coarsePointer = matchMedia("(pointer: coarse)");
  const charts = new Map(); // element -> { url, figure, hidden, pointedAt }
  const FADED = 0.12;
  const LONG = 42; // letters of an upright title that fit on a phone
  const FEW = 6; // columns of a heat map whose numbers fit there
  let printing = false;
  let plotlyLoads = null;

  const isDark = () => !printing && (document.documentElement.dataset.theme ?? (darkScheme.matches ? "dark" : "light")) === "dark";

  function loadPlotly() {
    plotlyLoads ??= new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = plotlyUrl;
      script.addEventListener("load", done);
      script.addEventListener("error", () => {
        plotlyLoads = null; // another try may succeed
        script.remove();
        fail(new Error("the drawing program could not be fetched"));
      });
      document.head.append(script);
    });
    return plotlyLoads;
  }

  async function fetchFigure(url) {
    const answer = await fetch(url, { headers: { accept: "application/json" } }).catch(() => {
      throw new Error("the service did not answer");
    });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(body.detail ?? `the service answered ${answer.status}`);
    if (!Array.isArray(body.data) || !body.layout) throw new Error("the service answered something that is no figure");
    return body;
  }

  function recoloured(value, colours) {
    if (typeof value === "string") return colours.get(value) ?? value;
    if (Array.isArray(value)) return value.map((item) => recoloured(item, colours));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, recoloured(item, colours)]));
  }

  function fitted({ figure, hidden, pointedAt }) {
    const copy = recoloured({ data: figure.data, layout: figure.layout }, isDark() ? darkOf : new Map());
    copy.layout.dragmode = coarsePointer.matches ? false : (copy.layout.dragmode ?? "zoom"); // a finger scrolls the page
    for (const trace of copy.data) {
      const family = trace.meta?.family;
      if (family === undefined) continue;
      if (hidden.has(family)) trace.visible = false;
      if (pointedAt !== null && !hidden.has(pointedAt) && family !== pointedAt) trace.opacity = FADED;
    }
    if (narrowScreen.matches) {
      copy.data = copy.data.filter((trace) => trace.meta?.role !== "names"); // no room for them
      if (copy.layout.margin) copy.layout.margin = { ...copy.layout.margin, l: Math.min(copy.layout.margin.l ?? 40, 40), r: 8 };
      for (const axis of [copy.layout.xaxis, copy.layout.yaxis]) if (axis?.title?.font) axis.title.font.size = 12;
      const title = copy.layout.yaxis?.title;
      if (title?.text?.length > LONG) title.text = title.text.split(", ")[0]; // what is better stands below the chart
      for (const trace of copy.data) if (trace.z?.length > FEW) delete trace.texttemplate; // the table has them
    }
    return copy;
  }

  function message(element, state, text, again) {
    element.dataset.state = state;
    element.setAttribute("aria-busy", String(state === "loading"));
    element.querySelector(".chart-message")?.remove();
    if (!text) return;
    const box = document.createElement("div");
    box.className = "chart-message";
    const line = document.createElement("p");
    line.textContent = text;
    box.append(line);
    if (state === "failed") box.setAttribute("role", "status");
    if (again) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Try again";
      button.addEventListener("click", again);
      box.append(button);
    }
    element.append(box);
  }

  function draw(element) {
    const chart = charts.get(element);
    if (!chart?.figure) return undefined;
    const { data, layout } = fitted(chart);
    if (layout.height) element.style.height = `${layout.height}px`;
    drawLegend(element, chart);
    const drawn = window.Plotly.react(element, data, layout, { displayModeBar: false, responsive: true });
    follow(element, chart);
    return drawn;
  }

  // A point that carries an address leads there: a mouse's click at once, a finger's tap the second time.

  function follow(element, chart) {
    if (chart.follows === chart.figure) return;
    chart.follows = chart.figure;
    for (const name of ["plotly_hover", "plotly_unhover", "plotly_click"]) element.removeAllListeners(name);
    const addressOf = ({ points }) => {
      const address = points?.[0]?.customdata;
      return typeof address === "string" && address.startsWith("/") ? address : null;
    };
    element.on("plotly_hover", (event) => element.classList.toggle("leads", addressOf(event) !== null));
    element.on("plotly_unhover", () => element.classList.remove("leads"));
    element.on("plotly_click", (event) => {
      const address = addressOf(event);
      const { ctrlKey, metaKey } = event.event ?? {};
      if (address === null) return;
      if (coarsePointer.matches && chart.tapped !== address) chart.tapped = address;
      else if (ctrlKey || metaKey) open(address, "_blank", "noopener");
      else location.assign(address);
    });
  }

  // A chart as a file: in light colours, with the legend that the page draws itself, the same size on every screen.

  const FILE = { width: 1000, height: 640 };
  const ENTRY = { width: 50, letter: 7, height: 20 }; // of its legend, about
  const ROWS = 3; // of the legend, for which that height has room

  function fileName(element, format) {
    const metric = new URL(element.dataset.figure, location.href).searchParams.get("metric") ?? "";
    const name = element.dataset.name || element.id;
    const parts = ["codec-superb", name, name.includes(metric) ? "" : metric];
    return `${parts.filter(Boolean).join("-").replace(/[^\w.-]+/g, "_")}.${format}`;
  }

  async function save(element, format) {
    const chart = charts.get(element);
    if (!chart?.figure) return;
    printing = true;
    const { data, layout } = fitted({ ...chart, pointedAt: null });
    printing = false;
    Object.assign(layout, { paper_bgcolor: light.split(" ")[0], plot_bgcolor: light.split(" ")[0], autosize: false });
    let { height } = FILE;
    if (element.dataset.legend !== undefined) {
      const named = new Set();
      for (const trace of data) {
        const family = trace.meta?.role === "names" ? undefined : trace.meta?.family;
        trace.showlegend = family !== undefined && !named.has(family);
        named.add(family);
      }
      const longest = Math.max(...data.map(({ name, showlegend }) => (showlegend ? name.length : 0)));
      const columns = Math.max(1, Math.floor(FILE.width / (ENTRY.width + ENTRY.letter * longest)));
      height += ENTRY.height * Math.max(0, Math.ceil(named.size / columns) - ROWS); // no row is taken from the chart
      const legend = { orientation: "h", y: -0.14, itemsizing: "constant", maxheight: 1 };
      Object.assign(layout, { showlegend: named.size > 1, legend });
    }
    const scale = format === "png" ? 2 : 1;
    download(await window.Plotly.toImage({ data, layout }, { format, scale, ...FILE, height }), fileName(element, format));
  }

  function download(href, name) {
    const link = Object.assign(document.createElement("a"), { href, download: name });
    link.click();
  }

  // A chart that the page has as SVG takes its colours and letters from the style sheet: its file carries them itself.
  const STYLES = ["fill", "stroke", "stroke-width", "font-family", "font-size"];
  const HEADING = 28;

  function drawing(element) {
    const rgb = (colour) => `rgb(${[1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).join(", ")})`;
    const lightOf = new Map(isDark() ? [...darkOf].map(([colour, shown]) => [rgb(shown), colour]) : []);
    const { width, height } = element.viewBox.baseVal;
    const [ink, paper] = ["--ink", "--paper"].map((name) => getComputedStyle(element).getPropertyValue(name).trim());
    const lightened = (colour) => lightOf.get(colour.startsWith("#") ? rgb(colour) : colour) ?? colour;
    const copy = element.cloneNode(true);
    const copies = copy.querySelectorAll("*");
    for (const [index, part] of element.querySelectorAll("*").entries()) {
      const style = getComputedStyle(part);
      for (const name of STYLES) copies[index].setAttribute(name, lightened(style.getPropertyValue(name)));
    }
    const family = getComputedStyle(element).fontFamily;
    const made = (name, attributes) => {
      const part = document.createElementNS(copy.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
      return part;
    };
    const title = made("text", { x: 8, y: 16 - HEADING, fill: lightened(ink), "font-family": family, "font-size": "13px" });
    title.textContent = element.dataset.title;
    copy.prepend(made("rect", { x: 0, y: -HEADING, width, height: height + HEADING, fill: lightened(paper) }), title);
    copy.setAttribute("viewBox", `0 ${-HEADING} ${width} ${height + HEADING}`);
    copy.setAttribute("width", FILE.width);
    copy.setAttribute("height", Math.round((FILE.width / width) * (height + HEADING)));
    copy.removeAttribute("class");
    return copy;
  }

  async function saveDrawing(element, format) {
    const copy = drawing(element);
    let url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    if (format === "png") {
      const picture = Object.assign(new Image(), { src: url });
      await picture.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      URL.revokeObjectURL(url);
      url = canvas.toDataURL("image/png");
    }
    download(url, `codec-superb-${element.id}.${format}`);
  }

  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-save]");
    if (!button) return;
    const element = document.getElementById(button.dataset.of);
    (element instanceof SVGElement ? saveDrawing : save)(element, button.dataset.save);
  });

  async function show(element) {
    const url = element.dataset.figure;
    const chart = charts.get(element) ?? { url: null, figure: null, hidden: new Set(), pointedAt: null };
    charts.set(element, chart);
    chart.url = url;
    if (!chart.figure) message(element, "loading", "Loading the chart …");
    element.setAttribute("aria-busy", "true");
    try {
      const [figure] = await Promise.all([fetchFigure(url), loadPlotly()]);
      if (chart.url !== url || !element.isConnected) return; // something else was chosen meanwhile
      chart.figure = figure;
      message(element, "drawn");
      await draw(element);
      element.dispatchEvent(new CustomEvent("chartdrawn", { bubbles: true }));
    } catch (error) {
      if (chart.url !== url) return;
      if (chart.figure) window.Plotly?.purge(element);
      chart.figure = null;
      const reason = error.message.replace(/\.$/, "");
      message(element, "failed", `The chart cannot be shown: ${reason}.`, () => show(element));
    }
  }

  // The legend: a button per family under the chart, to hide a family or, by pointing at it, to bring it out.

  function families(figure) {
    const found = new Map();
    for (const { meta, marker } of figure.data) {
      if (meta?.family === undefined || meta.role === "names" || found.has(meta.family)) continue;
      // arrows are points outside the axis
      const symbol = [marker?.symbol].flat().find((each) => each && !each.startsWith("arrow")) ?? "circle";
      found.set(meta.family, { symbol: String(symbol).replace(/-open(-dot)?$/, ""), colour: marker?.color ?? "" });
    }
    return [...found].sort(([a], [b]) => a.localeCompare(b));
  }

  function swatch({ symbol, colour }) {
    const namespace = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(namespace, "svg");
    svg.setAttribute("viewBox", "-8 -8 16 16");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(namespace, "path");
    path.setAttribute("d", SYMBOLS[symbol] ?? SYMBOLS.circle);
    path.setAttribute("fill", (isDark() && darkOf.get(colour)) || colour);
    svg.append(path);
    return svg;
  }

  function legendButton(element, chart, family, style) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.family = family;
    button.setAttribute("aria-pressed", String(!chart.hidden.has(family)));
    button.append(swatch(style), family);
    button.addEventListener("click", () => {
      if (!chart.hidden.delete(family)) chart.hidden.add(family);
      button.setAttribute("aria-pressed", String(!chart.hidden.has(family)));
      draw(element);
    });
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  function drawLegend(element, chart) {
    if (element.dataset.legend === undefined) return;
    const present = families(chart.figure);
    const colours = isDark() ? "dark" : "light";
    let list = chart.legend;
    if (list && chart.legendOf === chart.figure && chart.legendColours === colours) return; // keep the focus
    list?.remove();
    list = document.createElement("ul");
    list.className = "legend";
    list.setAttribute("aria-label", "Families: point to bring out, press to hide or show");
    list.append(...present.map(([family, style]) => legendButton(element, chart, family, style)));
    const point = (event, family) => {
      if (event.pointerType === "touch" || family === chart.pointedAt) return; // a finger points at nothing
      if (event.type === "focusin" && !event.target.matches(":focus-visible")) return;
      chart.pointedAt = family;
      draw(element);
    };
    for (const name of ["pointerover", "focusin"])
      list.addEventListener(name, (event) => point(event, event.target.closest("button")?.dataset.family ?? null));
    for (const name of ["pointerleave", "focusout"]) list.addEventListener(name, (event) => point(event, null));
    Object.assign(chart, { legend: list, legendOf: chart.figure, legendColours: colours });
    element.after(list);
  }

  // When to draw.

  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        show(target);
      }
    },
    { rootMargin: "200px" },
  );

  function adopt(root) {
    for (const element of root.querySelectorAll("[data-figure]")) if (!charts.has(element)) seen.observe(element);
    for (const element of charts.keys()) if (!element.isConnected) forget(element);
  }

  function forget(element) {
    charts.delete(element);
    window.Plotly?.purge(element);
  }

  const redrawAll = () => charts.forEach((_, element) => draw(element));

  function printSize(width) {
    for (const [element, chart] of charts) {
      if (!chart.figure) continue;
      element.style.width = width;
      window.Plotly.Plots.resize(element);
    }
  }

  document.addEventListener("change", ({ target }) => {
    const chosen = target.closest?.("select[data-chart]");
    if (chosen) document.getElementById(chosen.dataset.chart).dataset.figure = chosen.value;
  });
  new MutationObserver((changes) => {
    for (const { type, target } of changes) if (type === "attributes" && charts.has(target)) show(target);
    if (changes.some(({ type }) => type === "childList")) adopt(document);
  }).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-figure"] });
  addEventListener("themechange", redrawAll);
  narrowScreen.addEventListener("change", redrawAll);
  addEventListener("beforeprint", () => {
    printing = true;
    redrawAll();
    printSize("60rem");
  });
  addEventListener("afterprint", () => {
    printing = false;
    redrawAll();
    printSize("");
  });
  adopt(document);
})();
