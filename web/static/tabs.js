// Categories and applications as tabs: links without this script, an ARIA tab list with it.

function setUpTabs() {
  const list = document.querySelector("[data-tabs]");
  if (!list) return;
  const tabs = [...list.children];
  const panelOf = (tab) => document.getElementById(tab.dataset.panel);

  function select(tab) {
    for (const each of tabs) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", String(chosen));
      each.tabIndex = chosen ? 0 : -1;
      panelOf(each).classList.toggle("current", chosen);
    }
    redrawAll();
  }

  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", list.parentElement.getAttribute("aria-label"));
  for (const tab of tabs) {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", tab.dataset.panel);
    panelOf(tab).setAttribute("role", "tabpanel");
    panelOf(tab).setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      select(tab);
      history.replaceState(null, "", tab.getAttribute("href"));
    });
  }
  list.addEventListener("keydown", (event) => {
    const here = tabs.indexOf(document.activeElement);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (event.key === " ") document.activeElement.click();
    else if (next !== undefined) {
      tabs.at(next % tabs.length).focus();
      document.activeElement.click();
    } else return;
    event.preventDefault();
  });
  select(tabs.find((tab) => tab.getAttribute("href") === location.hash) ?? tabs[0]);
}
