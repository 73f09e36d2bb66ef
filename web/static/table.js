// Sortable tables: headings become buttons; rows without a value always come last.

function setUpTable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const opposite = { ascending: "descending", descending: "ascending" };

  function sortBy(heading) {
    const column = headings.indexOf(heading);
    const before = heading.getAttribute("aria-sort");
    const order = before ? opposite[before] : heading.dataset.best;
    const numeric = heading.classList.contains("number");
    const sign = order === "ascending" ? 1 : -1;
    const key = (row) => row.cells[column].dataset.sort;
    const compare = (a, b) => {
      if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
      return sign * (numeric ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
    };
    headings.forEach((each) => each.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", order);
    body.append(...[...body.rows].sort(compare));
  }

  for (const heading of headings) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(heading));
  }
}

// Says over a table that is cut on the right that there is more.
function setUpScroll(region) {
  const hint = document.createElement("p");
  hint.className = "note sideways";
  region.before(hint);
  const look = () => {
    const heads = [...(region.querySelector("thead tr")?.cells ?? [])];
    const end = region.getBoundingClientRect().right + 1;
    const cut = region.clientWidth ? heads.filter((head) => head.getBoundingClientRect().right > end).length : 0;
    hint.hidden = cut === 0 || region.scrollWidth <= region.clientWidth + 1;
    hint.textContent = `${cut} more ${cut === 1 ? "column" : "columns"} to the right: scroll the table sideways →`;
  };
  new ResizeObserver(look).observe(region);
  region.addEventListener("scroll", look, { passive: true });
}
