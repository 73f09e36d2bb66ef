// Light or dark: the system's choice until the visitor makes one, which is remembered on this device alone.

(() => {
  const root = document.documentElement;
  const stored = localStorage.getItem("theme");
  if (stored) root.dataset.theme = stored;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");

  addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        root.dataset.theme = current() === "dark" ? "light" : "dark";
        localStorage.setItem("theme", root.dataset.theme);
        dispatchEvent(new Event("themechange"));
      });
    }
  });
})();
