// Search and order of a leaderboard. Only a long one asks the server.
"use strict";
(() => {
  const form = document.querySelector("form.filters");
  const table = document.querySelector("table.board, table.league");
  if (!form || !table) return;
  if (table.dataset.live !== "yes") {
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
  const {choice, choose, fill, like, plain, list} = window.racebot;
  const found = document.querySelector(".found");
  const none = table.parentElement.querySelector(".none");
  const body = table.tBodies[0];
  const {headings, whole, makeSortable} = list(table, (table.dataset.pages ?? "").split(" ").filter(Boolean));

  const column = name => headings.findIndex(heading => heading.dataset.sort === name);
  const wanted = () => plain((choice.get("q") ?? "").trim());

  let latest = 0;
  const filter = async () => {
    const turn = ++latest;
    const complete = await whole();
    if (turn !== latest) return;
    const text = wanted();
    const show = match => {
      for (const row of body.rows) row.hidden = ![plain(row.querySelector(".player").textContent), row.dataset.latin ?? ""].some(name => match(name, text));
      return [...body.rows].filter(row => !row.hidden).length;
    };
    const count = show((name, text) => name.includes(text)) || show(like);
    none.hidden = count > 0;
    if (document.getElementById("unranked")) document.getElementById("unranked").hidden = text !== "";
    const counted = count === 1 ? "1 player found" : `${count} players found`;
    found.textContent = !text ? "" : complete ? counted : `${counted} on this page. The other pages can't be loaded here.`;
  };

  makeSortable();
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
    if (wanted()) filter(); // sorting may have fetched more rows
  });

  // Apply what the address chooses, as a server does.
  fill(form);
  if (wanted()) filter();
  const sort = choice.get("sort"), order = {up: "ascending", down: "descending"}[choice.get("order")];
  const heading = sort && headings[column(sort)];
  if (heading) {
    heading.firstChild.click();
    if (order && heading.getAttribute("aria-sort") !== order) heading.firstChild.click();
  }
})();
