// Clip by clip: two codecs and metrics against each other; a chosen clip shows its values and its sound.

function setUpScatter(panel, payload) {
  const element = panel.querySelector('[data-chart="scatter"]');
  if (!element) return;
  const pickers = Object.fromEntries([...panel.querySelectorAll("[data-scatter]")].map((each) => [each.dataset.scatter, each]));
  const clipPicker = panel.querySelector("[data-clip]");
  let listening = false; // Plotly gives the element its events with the first drawing
  const [diagonal, silent, audible, ring] = payload.scatter.data;

  const axis = (side) => {
    const codec = Number(pickers[`${side}_codec`].value);
    const metric = pickers[`${side}_metric`].value;
    const { label, decimals, axis: layout } = payload.metrics[metric];
    const { title, label: name } = payload.codecs[codec];
    const values = payload.values[codec][metric] ?? [];
    const write = (value) => value.toFixed(decimals).replace("-", "−");
    return { codec, metric, layout, title, name, values, write, label: `${name}, ${label}` };
  };

  const hover = (clip, x, y) =>
    [`<b>${plain(payload.clips[clip][1])}</b>`, plain(payload.clips[clip][0])]
      .concat([y, x].map((side) => `${side.label}: ${side.write(side.values[clip])}`))
      .join("<br>");

  const dots = (trace, clips, x, y) => ({
    ...trace,
    x: clips.map((clip) => x.values[clip]),
    y: clips.map((clip) => y.values[clip]),
    customdata: clips,
    hovertext: clips.map((clip) => hover(clip, x, y)),
  });

  const titled = (side) => ({
    ...side.layout,
    title: { ...side.layout.title, text: `${side.name}: ${side.layout.title.text}` },
  });

  function figure() {
    const [x, y] = [axis("x"), axis("y")];
    const both = payload.clips.map((_, clip) => clip).filter((clip) => x.values[clip] != null && y.values[clip] != null);
    const all = x.metric === y.metric ? both.flatMap((clip) => [x.values[clip], y.values[clip]]) : [];
    const ends = all.length ? [Math.min(...all), Math.max(...all)] : [];
    const heard = (clip) => payload.clips[clip][2] !== null;
    const chosen = both.filter((clip) => String(clip) === clipPicker.value);
    return {
      data: [
        { ...diagonal, x: ends, y: ends },
        dots(silent, both.filter((clip) => !heard(clip)), x, y),
        dots(audible, both.filter(heard), x, y),
        { ...ring, x: chosen.map((clip) => x.values[clip]), y: chosen.map((clip) => y.values[clip]) },
      ],
      layout: { ...payload.scatter.layout, xaxis: titled(x), yaxis: titled(y) },
    };
  }

  function attach() {
    if (listening || !element.on) return;
    listening = true;
    element.on("plotly_click", ({ points }) => {
      if (points[0].customdata === undefined) return;
      clipPicker.value = String(points[0].customdata);
      show();
    });
  }

  function show() {
    draw(element, () => {
      queueMicrotask(attach);
      return figure();
    });
    showClip(panel, payload, clipPicker.value, axis("y"), axis("x"));
  }

  [...Object.values(pickers), clipPicker].forEach((each) => each.addEventListener("change", show));
  show();
}

// What is known of the chosen clip, and its sound through the two codecs of the chart.
function showClip(panel, payload, chosen, y, x) {
  const box = panel.querySelector("[data-selected]");
  box.replaceChildren();
  if (chosen === "") return;
  const [dataset, clip, heard] = payload.clips[Number(chosen)];
  const sides = y.codec === x.codec && y.metric === x.metric ? [y] : [y, x];
  const values = sides.map((side) => {
    const value = side.values[Number(chosen)];
    return `${side.title}, ${payload.metrics[side.metric].label}: ${value == null ? "undefined" : side.write(value)}`;
  });
  box.append(paragraph(clip, "name"), paragraph(`${dataset}. ${values.join("; ")}.`, "quiet"));
  if (heard !== null) box.append(players(panel, heard, sides));
}

function paragraph(text, name) {
  const element = document.createElement("p");
  element.textContent = text;
  element.className = name;
  return element;
}

function players(panel, heard, sides) {
  const source = panel.querySelector(`[data-listening="${heard}"]`);
  const wanted = ["[data-reference]", ...new Set(sides.map((side) => `[data-codec="${side.codec}"]`))];
  const list = document.createElement("ul");
  list.className = "players";
  for (const selector of wanted) {
    const original = source.querySelector(`audio${selector}`);
    if (original) list.append(original.closest("li").cloneNode(true));
  }
  return list;
}
