// Shows times as "3 minutes ago", closes the list of leaderboards, sorts tables of opponents, loads comparisons, and holds the functions that other scripts share.
"use strict";
(() => {
  // Fetch the rows that other pages of a list hold, with links that work from this page.
  const rows = (addresses, table) => Promise.all(addresses.map(async address => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(String(answer.status));
    const other = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(table);
    for (const [name, where] of [["href", "a"], ["src", "img"]]) {
      for (const each of other.querySelectorAll(where)) each.setAttribute(name, new URL(each.getAttribute(name), answer.url));
    }
    return [...other.tBodies[0].rows].map(row => document.adoptNode(row));
  })).then(pages => pages.flat());
  // The path segment of a player's id, as the pages write it.
  const segment = id => {
    if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/.test(id)) return id;
    const bytes = String.fromCharCode(...new TextEncoder().encode(id));
    return `~${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  };
  // A name as searches compare it, without case and accents.
  const plain = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  // A number with a minus sign in place of a hyphen.
  const number = value => String(value).replace("-", "−");
  // The value by which a cell is sorted: a time, a name or a number.
  const key = cell => {
    const time = cell.querySelector("time"), name = cell.querySelector(".player");
    if (time) return time.dateTime;
    if (name) return name.textContent.trim().toLowerCase();
    const [, sign, digits] = cell.textContent.match(/([<>+−-]?)(\d+(?:\.\d+)?)/) ?? [, "", "0"];
    return Number(digits) * (sign === "−" || sign === "-" ? -1 : 1) + ({"<": -.5, ">": .5}[sign] ?? 0);
  };
  // Turn headings into buttons that sort the rows, once the promise of everything() has fetched all of them.
  const sortable = (table, everything) => [...table.tHead.rows[0].cells].forEach((heading, index) => {
    if (!heading.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => {
      const first = ["name", "player", "place"].includes(heading.dataset.sort) ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      const direction = heading.getAttribute("aria-sort") === first ? other : first;
      for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction);
      const sign = direction === "ascending" ? 1 : -1;
      everything().then(() => {
        const keyed = [...table.tBodies[0].rows].map(row => [key(row.cells[index]), row]);
        keyed.sort(([a], [b]) => a < b ? -sign : a > b ? sign : 0);
        table.tBodies[0].append(...keyed.map(([, row]) => row));
      });
    });
    heading.replaceChildren(button);
  });
  // The reader's choice, which the address holds as on a server, so that it can be shared.
  const choice = new URLSearchParams(location.search);
  const choose = values => {
    for (const [name, value] of Object.entries(values)) {
      if (value) choice.set(name, value);
      else choice.delete(name);
    }
    history.replaceState(null, "", String(choice) ? `?${choice}` : location.pathname);
  };
  // In an export, ?vs=OPPONENT on a player's page marks the opponent's row. With scripts, it compares both players.
  const opponents = document.querySelector("table[data-compare]");
  if (opponents && choice.get("vs") && choice.get("vs") !== opponents.dataset.player) document.addEventListener("DOMContentLoaded", () => {
    const loaded = [...document.scripts].map(each => each.getAttribute("src"));
    for (const src of opponents.dataset.compare.split(" ")) {
      if (!loaded.includes(src)) document.head.append(Object.assign(document.createElement("script"), {src, async: false}));
    }
  });

  const units = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const words = new Intl.RelativeTimeFormat("en", {numeric: "auto"});
  const refresh = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const seconds = (Date.now() - new Date(time.dateTime)) / 1000;
      const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", 60];
      const ago = Math.abs(seconds) < 60 ? "just now" : words.format(-Math.round(seconds / size), unit);
      time.textContent = ago + time.dataset.ago;
    }
  };
  refresh();
  setInterval(refresh, 60000);
  window.racebot = {choice, choose, rows, segment, plain, number, key, sortable, refresh};

  document.addEventListener("click", event => {
    for (const each of document.querySelectorAll("details.switch[open]")) if (!each.contains(event.target)) each.open = false;
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    for (const each of document.querySelectorAll("details.switch[open]")) each.open = false;
  });

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    // The pages that hold all rows, fetched when the reader first sorts. A failure leaves the rows of this page.
    const pages = table.dataset.sortable.split(" ").filter(Boolean);
    let waiting = null;
    sortable(table, () => waiting ??= pages.length ? rows(pages, "table[data-sortable]").then(all => {
      table.tBodies[0].replaceChildren(...all);
      for (const each of document.querySelectorAll("[data-part], .pager")) each.remove();
    }, () => {}) : Promise.resolve());
  }
})();
