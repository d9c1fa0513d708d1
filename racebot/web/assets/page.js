// Shows times as "3 minutes ago", closes the list of leaderboards, and sorts small tables by their headings.
"use strict";
(() => {
  const units = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const words = new Intl.RelativeTimeFormat("en", {numeric: "auto"});
  const refresh = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const seconds = (Date.now() - new Date(time.dateTime)) / 1000;
      const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", 60];
      time.textContent = Math.abs(seconds) < 60 ? "just now" : words.format(-Math.round(seconds / size), unit);
    }
  };
  refresh();
  setInterval(refresh, 60000);

  document.addEventListener("click", event => {
    for (const each of document.querySelectorAll("details.switch[open]")) if (!each.contains(event.target)) each.open = false;
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    for (const each of document.querySelectorAll("details.switch[open]")) each.open = false;
  });

  const value = cell => {
    if (cell.tagName === "TH") return cell.textContent.trim().toLowerCase();
    const number = parseFloat(cell.textContent.replace("−", "-").replace("±", ""));
    return Number.isNaN(number) ? -Infinity : number;
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    [...table.tHead.rows[0].cells].forEach((heading, index) => {
      if (!heading.dataset.sort) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.addEventListener("click", () => {
        const first = heading.dataset.sort === "name" ? "ascending" : "descending";
        const other = first === "ascending" ? "descending" : "ascending";
        const direction = heading.getAttribute("aria-sort") === first ? other : first;
        for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", direction);
        const sign = direction === "ascending" ? 1 : -1;
        const rows = [...table.tBodies[0].rows].map(row => [value(row.cells[index]), row]);
        rows.sort(([a], [b]) => a < b ? -sign : a > b ? sign : 0);
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
      heading.replaceChildren(button);
    });
  }
})();
