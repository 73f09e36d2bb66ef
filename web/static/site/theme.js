// Light or dark: the system's choice until the visitor makes one, which is remembered on this device alone.
// Runs before the page is painted, so that it never shows in the wrong colours.

(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  root.classList.add("js");

  // A browser that keeps nothing refuses even to be asked.
  const remembered = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const remember = (theme) => {
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // The choice then lasts as long as the page.
    }
  };

  const apply = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  apply(remembered());

  addEventListener("DOMContentLoaded", () => {
    const buttons = document.querySelectorAll("[data-theme-switch]");
    const tell = () => {
      const other = current() === "dark" ? "light" : "dark";
      for (const button of buttons) {
        button.hidden = false;
        button.title = `Switch to ${other} colours`;
        button.setAttribute("aria-label", button.title);
      }
      dispatchEvent(new Event("themechange"));
    };
    for (const button of buttons) {
      button.addEventListener("click", () => {
        apply(current() === "dark" ? "light" : "dark");
        remember(root.dataset.theme);
        tell();
      });
    }
    dark.addEventListener("change", tell);
    addEventListener("storage", (event) => {
      if (event.key !== "theme") return; // chosen in another window
      apply(event.newValue);
      tell();
    });
    tell();
  });
})();
