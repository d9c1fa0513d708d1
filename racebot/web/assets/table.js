// Search and order of a leaderboard without asking a server; the page works without this too.
"use strict";
(() => {
  const table = document.querySelector("table.board");
  if (!table || table.dataset.live !== "yes") return;
  const form = document.querySelector("form.search");
  const found = document.querySelector(".found");
  const body = table.tBodies[0];
  let rows = [...body.rows];
  const more = table.dataset.more.split(" ").filter(Boolean);
  let waiting = null;

  // A long leaderboard comes in several pages: the others are fetched when they are first needed.
  const everything = () => {
    if (!more.length) return Promise.resolve();
    waiting ??= Promise.all(more.map(async address => {
      const text = await (await fetch(address)).text();
      const other = new DOMParser().parseFromString(text, "text/html").querySelector("table.board");
      return [...other.tBodies[0].rows].map(row => document.adoptNode(row));
    })).then(parts => {
      rows = rows.concat(...parts);
      document.querySelector(".pager")?.remove();
      body.append(...rows);
    }, () => { found.textContent = "Only this page can be searched here."; });
    return waiting;
  };

  const key = (row, index) => {
    const cell = row.cells[index];
    const time = cell.querySelector("time");
    if (time) return time.dateTime;
    const name = cell.querySelector(".player");
    if (name) return name.textContent.trim().toLowerCase();
    const number = parseInt(cell.textContent.trim().replace("−", "-").replace("±", ""), 10);
    return Number.isNaN(number) ? 0 : number;
  };

  const order = (heading, index) => {
    const first = ["player", "place"].includes(heading.dataset.sort) ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const direction = heading.getAttribute("aria-sort") === first ? other : first;
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const keys = new Map(rows.map(row => [row, key(row, index)]));
    rows.sort((a, b) => keys.get(a) < keys.get(b) ? -sign : keys.get(a) > keys.get(b) ? sign : 0);
    body.append(...rows);
  };

  const search = () => {
    const wanted = form.q.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const hit = row.querySelector(".player").textContent.toLowerCase().includes(wanted);
      row.hidden = !hit;
      count += hit;
    }
    if (wanted) found.textContent = count === 1 ? "1 player found" : `${count} players found`;
    else found.textContent = "";
  };

  [...table.tHead.rows[0].cells].forEach((heading, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => everything().then(() => order(heading, index)));
    heading.replaceChildren(button);
  });
  form.hidden = false;
  form.querySelector("button").remove();
  form.addEventListener("submit", event => event.preventDefault());
  form.q.addEventListener("input", () => everything().then(search));
  if (form.q.value) everything().then(search);
})();
