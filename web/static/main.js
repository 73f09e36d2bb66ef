// Puts the page together, and draws anew when colours or size change.

for (const panel of document.querySelectorAll(".panel[data-category]")) {
  const payload = report.panels[panel.dataset.category];
  setUpRateChart(panel, payload);
  setUpSpread(panel, payload);
  setUpScatter(panel, payload);
}
const applications = document.getElementById("applications");
if (applications) setUpRateChart(applications, report.applications);
for (const chart of document.querySelectorAll("[data-figure]")) setUpFigure(chart, report.figures);
document.querySelectorAll("[data-sortable]").forEach(setUpTable);
document.querySelectorAll(".scroll").forEach(setUpScroll);
setUpListening();
setUpTabs();
darkScheme.addEventListener("change", redrawAll);
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
await loadPlotly();
redrawAll();
