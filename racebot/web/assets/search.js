// Searches the players and leaderboards of exported pages. Accents and a typo are forgiven.
"use strict";
(() => {
  const {players, boards} = window.racebotIndex ?? {players: [], boards: []};
  const form = document.getElementById("search"), results = document.getElementById("results");
  const found = document.querySelector(".found");
  const {plain, segment} = window.racebot;
  const distance = (a, b) => {
    let row = Array.from({length: b.length + 1}, (_, n) => n);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      row = next;
    }
    return row[b.length];
  };
  const matches = (entries, wanted, byBeginning = false) => {
    const named = entries.map(([address, name, ...about]) => [address, name, plain(name), ...about]);
    const exact = named.filter(([, , name]) => name.includes(wanted));
    if (exact.length) return exact.sort((a, b) => a[2].length - b[2].length);
    const most = wanted.length > 7 ? 2 : wanted.length > 3 ? 1 : 0;
    const near = name => Math.abs(name.length - wanted.length) <= most && distance(name, wanted) <= most;
    const beginnings = name => byBeginning ? [name.slice(0, wanted.length), name.slice(0, wanted.length + 1)] : [];
    return named.filter(([, , name]) => [name, ...beginnings(name)].some(near));
  };
  const section = (title, entries) => {
    if (!entries.length) return [];
    const card = document.createElement("section"), heading = document.createElement("h2"), list = document.createElement("ul");
    card.className = "card";
    list.className = "list";
    heading.textContent = title;
    for (const [address, name, , points, board] of entries.slice(0, 20)) {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = address;
      link.textContent = name;
      link.className = "player";
      item.append(link);
      if (points !== undefined) {
        const about = document.createElement("b"), where = document.createElement("span");
        where.className = "soft";
        where.textContent = boards[board][1];
        about.append(`${points} `, where);
        item.append(about);
      }
      list.append(item);
    }
    card.append(heading, list);
    return [card];
  };
  const search = () => {
    const wanted = plain(form.q.value.trim());
    const people = wanted ? matches(players, wanted).map(([id, name, key, points, board]) => {
      const page = boards[board]?.[0].replace("leaderboards/", "/") ?? ".html";
      return [`players/${segment(id)}${page}`, name, key, points, board];
    }) : [];
    const places = wanted ? matches(boards, wanted, true) : [];
    results.replaceChildren(...section("Players", people), ...section("Leaderboards", places));
    found.textContent = wanted && !people.length && !places.length ? "Nothing found. Players appear after their first rated race." : "";
  };
  form.q.value = new URLSearchParams(location.search).get("q") ?? "";
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("input", search);
  search();
})();
