// Runs before the page is painted, so that what needs no script is never shown in its place.
if (window.DecompressionStream) document.documentElement.classList.add("js");
