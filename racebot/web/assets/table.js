// Search, filters and order of a leaderboard, and filters of a player's races, without asking a server.
"use strict";
(() => {
  const form = document.querySelector("form.filters");
  const table = document.querySelector("table.board, table.player-races");
  if (!form || !table) return;
  const isBoard = table.classList.contains("board");
  if (isBoard && table.dataset.live !== "yes") return;
  if (!isBoard && !form.classList.contains("scripted")) return;
  const {choice, choose, plain, key, segment, sortable} = window.racebot;
  const found = document.querySelector(".found");
  const body = table.tBodies[0];
  let rows = [...body.rows];
  const more = ((isBoard ? table : form).dataset.more ?? "").split(" ").filter(Boolean);
  let waiting = null;

  // A long list comes in several pages: the others are fetched when they are first needed.
  const everything = () => {
    if (!more.length) return Promise.resolve();
    waiting ??= window.racebot.rows(more, "table.board, table.player-races").then(others => {
      rows = rows.concat(others);
      document.querySelector(".pager")?.remove();
      body.append(...rows);
    }, () => { found.textContent = "Only this page can be searched here."; });
    return waiting;
  };

  const headings = [...table.tHead.rows[0].cells];
  const column = name => headings.findIndex(heading => heading.dataset.sort === name);
  const races = column("races"), last = column("last");

  const narrowed = () => ["q", "min", "active", "result", "goal", "opponent"].some(name => choice.get(name)?.trim());
  const boardMatch = () => {
    const wanted = plain((choice.get("q") ?? "").trim());
    const least = Number(choice.get("min")) || 0, days = Number(choice.get("active")) || 0;
    const newest = days ? Math.max(...rows.map(row => new Date(key(row.cells[last])))) : 0;
    return row => plain(row.querySelector(".player").textContent).includes(wanted)
      && (!least || key(row.cells[races]) >= least)
      && (!days || new Date(key(row.cells[last])) >= newest - days * 864e5);
  };
  const raceMatch = met => {
    const result = choice.get("result"), goal = choice.get("goal");
    return row => (!result || row.dataset.result === result || result === "finished" && row.dataset.result === "won")
      && (!goal || row.dataset.goal === goal) && (!met || met.has(row.dataset.race));
  };

  // The races of an opponent, by their numbers on the leaderboard; null without an opponent.
  const histories = new Map();
  const racesOf = opponent => {
    if (!opponent) return Promise.resolve(null);
    if (!histories.has(opponent)) {
      const address = form.dataset.player.replace("ID.json", `${segment(opponent)}.json`);
      histories.set(opponent, fetch(address).then(answer => answer.json())
        .then(player => new Set(player.history.map(race => String(race.sequence)))));
    }
    return histories.get(opponent);
  };

  let latest = 0;
  const filter = async () => {
    const turn = ++latest;
    let met = null;
    try {
      met = isBoard ? null : await racesOf(choice.get("opponent"));
    } catch {
      found.textContent = "The opponent's races cannot be loaded here.";
      return;
    }
    if (turn !== latest) return;
    const match = isBoard ? boardMatch() : raceMatch(met);
    let count = 0;
    for (const row of rows) {
      row.hidden = !match(row);
      count += !row.hidden;
    }
    const one = isBoard ? "1 player found" : "1 race", many = isBoard ? "players found" : "races";
    found.textContent = !isBoard || narrowed() ? (count === 1 ? one : `${count} ${many}`) : "";
  };

  if (isBoard) sortable(table, everything);
  form.addEventListener("submit", event => { if (!form.at?.value) event.preventDefault(); });
  form.addEventListener("input", ({target}) => {
    if (target.name === "at") return;
    choose({[target.name]: target.value});
    everything().then(filter);
  });
  table.tHead.addEventListener("click", ({target}) => {
    const heading = target.closest("th[aria-sort]");
    if (heading) choose({sort: heading.dataset.sort, order: heading.ariaSort === "descending" ? "down" : "up"});
  });

  // Apply what the address chooses, as a server does.
  for (const field of form.elements) if (choice.has(field.name)) field.value = choice.get(field.name);
  const options = form.querySelector("details");
  if (options && (choice.has("min") || choice.has("active"))) options.open = true;
  if (narrowed()) everything().then(filter);
  const sort = choice.get("sort"), order = {up: "ascending", down: "descending"}[choice.get("order")];
  const heading = isBoard && sort && headings[column(sort)];
  if (heading) {
    heading.firstChild.click();
    if (order && heading.ariaSort !== order) heading.firstChild.click();
  }
})();
