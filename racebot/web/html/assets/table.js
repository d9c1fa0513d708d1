// Search, filters and order of a leaderboard, and filters of a player's races. Only a long leaderboard asks the server.
"use strict";
(() => {
  const form = document.querySelector("form.filters");
  const table = document.querySelector("table.board, table.league, table.player-races");
  if (!form || !table) return;
  const isBoard = !table.classList.contains("player-races");
  if (isBoard && table.dataset.live !== "yes") {
    let latest = 0, pause = 0;
    const swapped = [".card.flat", ".found", ".pager"];
    const ask = async () => {
      const turn = ++latest;
      const given = [...new FormData(form)].filter(([, value]) => value);
      const address = new URL(form.action);
      address.search = new URLSearchParams(given);
      const page = await window.racebot.pageAt(address).catch(() => null);
      if (turn !== latest) return;
      if (!page) {
        document.querySelector(".found").textContent = "The list can't be loaded. Try again.";
        return;
      }
      for (const part of swapped) {
        const old = document.querySelector(part), fresh = page.querySelector(part);
        if (old && fresh) old.replaceChildren(...fresh.childNodes);
        else if (fresh) document.querySelector(".card.flat").after(fresh);
        else old?.replaceChildren();
      }
      // The page's other links are relative to its folder.
      if (address.pathname === location.pathname) history.replaceState(null, "", address);
      window.racebot.refresh();
      document.getElementById("unranked")?.remove();
    };
    form.addEventListener("input", ({target}) => {
      clearTimeout(pause);
      if (target.name !== "at") pause = setTimeout(ask, 200);
    });
    return;
  }
  if (!isBoard && !form.classList.contains("scripted")) return;
  const {choice, choose, fill, like, plain, key, list} = window.racebot;
  const found = document.querySelector(".found");
  const none = table.parentElement.querySelector(".none");
  const body = table.tBodies[0];
  const {headings, whole, makeSortable} = list(table, ((isBoard ? table : form).dataset.pages ?? "").split(" ").filter(Boolean));

  const column = name => headings.findIndex(heading => heading.dataset.sort === name);
  const races = column("races"), last = column("last");

  const narrowed = () => ["q", "min", "active", "result", "goal"].some(name => choice.get(name)?.trim());
  const boardMatch = named => {
    const wanted = plain((choice.get("q") ?? "").trim());
    const least = Number(choice.get("min")) || 0, days = Number(choice.get("active")) || 0;
    const newest = days ? Math.max(...[...body.rows].map(row => new Date(key(row.cells[last])))) : 0;
    return row => [plain(row.querySelector(".player").textContent), row.dataset.latin ?? ""].some(name => named(name, wanted))
      && (!least || key(row.cells[races]) >= least)
      && (!days || new Date(key(row.cells[last])) >= newest - days * 864e5);
  };
  const raceMatch = row => {
    const result = choice.get("result"), goal = choice.get("goal");
    return (!result || row.dataset.result === result || result === "finished" && row.dataset.result === "won")
      && (!goal || row.dataset.goal === goal);
  };

  let latest = 0;
  const filter = async () => {
    const turn = ++latest;
    const complete = await whole();
    if (turn !== latest) return;
    const show = match => {
      for (const row of body.rows) row.hidden = !match(row);
      return [...body.rows].filter(row => !row.hidden).length;
    };
    const count = isBoard ? show(boardMatch((name, wanted) => name.includes(wanted))) || show(boardMatch(like)) : show(raceMatch);
    none.hidden = count > 0;
    if (document.getElementById("unranked")) document.getElementById("unranked").hidden = narrowed();
    const one = isBoard ? "1 player found" : "1 race", many = isBoard ? "players found" : "races";
    const counted = count === 1 ? one : `${count} ${many}`;
    found.textContent = isBoard && !narrowed() ? "" : complete ? counted : `${counted} on this page. The other pages can't be loaded here.`;
  };

  if (isBoard) makeSortable();
  form.addEventListener("submit", event => { if (!form.at?.value) event.preventDefault(); });
  form.addEventListener("input", ({target}) => {
    if (target.name === "at") return;
    choose({[target.name]: target.value});
    filter();
  });
  table.tHead.addEventListener("click", ({target}) => {
    const heading = target.closest("th[aria-sort]");
    if (!heading) return;
    choose({sort: heading.dataset.sort, order: heading.getAttribute("aria-sort") === "descending" ? "down" : "up"});
    if (narrowed()) filter(); // sorting may have fetched more rows
  });

  // Apply what the address chooses, as a server does.
  fill(form);
  const options = form.querySelector("details");
  if (options && (choice.has("min") || choice.has("active"))) options.open = true;
  if (narrowed()) filter();
  const sort = choice.get("sort"), order = {up: "ascending", down: "descending"}[choice.get("order")];
  const heading = isBoard && sort && headings[column(sort)];
  if (heading) {
    heading.firstChild.click();
    if (order && heading.getAttribute("aria-sort") !== order) heading.firstChild.click();
  }
})();
