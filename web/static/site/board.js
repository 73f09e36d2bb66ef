// The leaderboard without reloading: filters, tabs, headings and pages exchange the content and keep the address.
// Without this script the same form and the same links do the same, a page at a time.

(() => {
  const main = document.getElementById("main");
  const chosen = new Set(); // codecs to compare, over all pages of the table
  const MOST = 6;
  const WAIT = 350; // ms after the last letter of a search
  const LETTERS = 1000; // ms for which a browser takes the letters typed at a list for one word: "PESQ" must not end at "E"
  const told = document.createElement("p");
  told.className = "visually-hidden";
  told.setAttribute("role", "status");
  document.body.append(told);
  const here = () => location.pathname + location.search;
  let shown = here(); // address of the content
  let current = 0;
  let timer = 0; // runs while a field waits for further keys
  let pressed = -LETTERS; // when a key was last pressed in a field

  // The address of the form: what is empty or the default is left out, as the server does.
  function addressOf(form) {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      const control = form.elements[name];
      if (value.trim() !== "" && value !== control.dataset?.default) query.append(name, value.trim());
    }
    const text = query.toString();
    return text ? `/?${text}` : "/";
  }

  // Show what the form says once no key has been pressed for a moment; the form is the one that the field is in then.
  function later(field) {
    clearTimeout(timer);
    current++; // what is under way would take the field away
    timer = setTimeout(() => show(addressOf(field.form), true), field.type === "search" ? WAIT : LETTERS);
  }

  async function show(address, remember) {
    clearTimeout(timer);
    timer = 0;
    const mine = ++current; // whatever is under way is not wanted any more
    main.setAttribute("aria-busy", String(address !== shown));
    if (address === shown) return;
    let html;
    try {
      const answer = await fetch(address, { headers: { accept: "text/html" } });
      html = answer.ok ? await answer.text() : null;
    } catch {
      html = null;
    }
    if (mine !== current) return; // something else was asked for meanwhile
    main.setAttribute("aria-busy", "false");
    if (html === null) {
      location.assign(address); // the browser shows what went wrong
      return;
    }
    if (remember) history.pushState(null, "", address);
    shown = address;
    exchange(new DOMParser().parseFromString(html, "text/html"));
  }

  function exchange(page) {
    const fresh = page.getElementById("main");
    const focused = document.activeElement?.id;
    const range = document.activeElement?.type === "search" ? [document.activeElement.selectionStart, document.activeElement.value] : null;
    const open = [...main.querySelectorAll("details[id][open]")].map((details) => details.id);
    const scrolled = main.querySelector(".table-scroll")?.scrollLeft ?? 0;
    keepCharts(fresh);
    main.replaceChildren(...fresh.childNodes);
    document.title = page.title;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    const target = focused ? document.getElementById(focused) : null;
    target?.focus({ preventScroll: true });
    if (target && range) {
      target.value = range[1]; // letters typed meanwhile stay
      target.setSelectionRange(range[0], range[0]);
    }
    const scroll = main.querySelector(".table-scroll");
    if (scroll) scroll.scrollLeft = scrolled;
    told.textContent = main.querySelector("#table-title + .note strong, #empty-title")?.textContent ?? "";
    restoreChoice();
  }

  // A chart that is drawn stays, and is only told what to show: it does not flicker.
  function keepCharts(fresh) {
    for (const place of fresh.querySelectorAll("[data-keep]")) {
      const old = main.querySelector(`[data-keep="${place.dataset.keep}"]`);
      const [before, after] = [old, place].map((each) => each?.querySelector("[data-figure]"));
      if (!before?.dataset.state) continue;
      place.replaceWith(old);
      before.setAttribute("aria-label", after.getAttribute("aria-label"));
      before.dataset.name = after.dataset.name ?? "";
      if (before.dataset.figure !== after.dataset.figure) before.dataset.figure = after.dataset.figure;
    }
  }

  // Codecs to compare.

  function restoreChoice() {
    const form = document.getElementById("compare");
    if (!form) return;
    const present = new Set();
    for (const box of main.querySelectorAll('.choose input[name="codec"]')) {
      present.add(box.value);
      box.checked = chosen.has(box.value);
      box.disabled = !box.checked && chosen.size >= MOST;
    }
    for (const old of form.querySelectorAll('input[type="hidden"]')) old.remove();
    for (const codec of chosen) {
      if (present.has(codec)) continue;
      const hidden = document.createElement("input");
      Object.assign(hidden, { type: "hidden", name: "codec", value: codec });
      form.append(hidden);
    }
    const button = document.getElementById("compare-button");
    const hint = document.getElementById("compare-hint");
    const enough = chosen.size >= 2;
    button.disabled = !enough;
    button.classList.toggle("primary", enough);
    button.textContent = enough ? `Compare ${chosen.size} codecs` : "Compare";
    hint.textContent =
      chosen.size === 0 ? "Choose two to six codecs in the table." : chosen.size === 1 ? "Choose at least one more." : chosen.size === MOST ? "Six is the most." : "";
  }

  document.addEventListener("change", ({ target }) => {
    if (target.matches('.choose input[name="codec"]')) {
      if (target.checked) chosen.add(target.value);
      else chosen.delete(target.value);
      restoreChoice();
    } else if (target.form?.id === "filters") {
      // Another metric brings its own order.
      if (target.name === "metric") for (const old of target.form.querySelectorAll('[name="sort"], [name="descending"]')) old.remove();
      if (!target.form.checkValidity()) return;
      if (performance.now() - pressed < LETTERS) later(target);
      else show(addressOf(target.form), true);
    }
  });
  document.addEventListener("keydown", ({ target }) => {
    if (target.form?.id !== "filters") return;
    pressed = performance.now();
    if (timer) later(target);
  });
  document.addEventListener("input", ({ target }) => {
    if (target.type !== "search" || target.form?.id !== "filters") return;
    later(target);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "filters") return;
    event.preventDefault();
    show(addressOf(event.target), true);
  });
  main.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || link.hasAttribute("download") || link.origin !== location.origin || link.pathname !== "/") return;
    event.preventDefault();
    show(link.getAttribute("href"), true);
  });
  addEventListener("popstate", () => show(here(), false)); // also fired by links within the page
  for (const box of main.querySelectorAll(".choose :checked")) chosen.add(box.value); // as the browser remembered them
  restoreChoice();
})();
