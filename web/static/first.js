// Runs before the page is painted, so that what needs no script is never shown in its place.
document.documentElement.classList.add("js");
