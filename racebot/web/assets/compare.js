// Compares two players in exported pages. The address names them: compare.html?a=ID&b=ID&on=LEADERBOARD.
"use strict";
(async () => {
  const box = document.getElementById("compare");
  const query = new URLSearchParams(location.search);
  const ids = [query.get("a") ?? "", query.get("b") ?? ""], board = query.get("on") ?? "";
  if (!ids[0] || !ids[1] || !/^[^/.][^/]*\/[^/.][^/]*$/.test(board)) return;
  // The path segment of a player's id, as the pages write it.
  const segment = id => {
    if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/.test(id)) return id;
    const bytes = String.fromCharCode(...new TextEncoder().encode(id));
    return `~${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  };
  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const link = (address, text) => {
    const element = make("a", text);
    element.href = address;
    return element;
  };
  const page = id => `players/${segment(id)}/${board}.html`;
  const raceLink = race => `races/${race.split("/").map(segment).join("/")}.html`;
  const percent = share => `${Math.round(100 * share)}%`;
  const timer = seconds => {
    const whole = Math.floor(seconds), two = n => String(n).padStart(2, "0");
    return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  };
  const day = text => new Date(text).toLocaleDateString("en-US", {day: "numeric", month: "short", year: "numeric", timeZone: "UTC"});

  let people;
  try {
    people = await Promise.all(ids.map(async id => {
      const answer = await fetch(`api/leaderboards/${board}/players/${segment(id)}.json`);
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.json();
    }));
  } catch {
    const line = make("p", "The comparison can't be loaded here. See ", "lead");
    line.append(link(page(ids[0]), "the first player"), " and ", link(page(ids[1]), "the second"), ".");
    box.replaceChildren(line);
    return;
  }
  const [one, other] = people;
  const theirs = new Map(other.history.map(race => [race.race, race]));
  const met = one.history.filter(race => theirs.has(race.race)).map(race => [race, theirs.get(race.race)]).reverse();
  const place = race => race.place ?? Infinity;
  const ahead = met.filter(([a, b]) => place(a) < place(b)).length;
  const behind = met.filter(([a, b]) => place(a) > place(b)).length;
  document.title = `${one.name} vs ${other.name}`;
  document.querySelector("h1").textContent = document.title;

  const card = title => {
    const section = make("section", undefined, "card");
    if (title) section.append(make("h2", title));
    return section;
  };
  const facing = card();
  facing.classList.add("facing");
  const person = each => {
    const side = make("div", undefined, "person");
    side.append(link(page(each.id), each.name), make("span", `${each.points} points${each.place ? `, place ${each.place}` : ""}`, "soft"));
    return side;
  };
  const score = make("div");
  score.append(make("div", `${ahead} – ${behind}`, "score"), make("div", `${met.length} ${met.length === 1 ? "race" : "races"} together`, "soft"));
  facing.append(person(one), score, person(other));
  const parts = [facing];

  const record = one.opponents.find(each => each.id === other.id);
  if (record && record.chance !== undefined) {
    const next = card("Next time");
    const line = make("p");
    line.append(`${one.name} has a chance of `, make("b", percent(record.chance)), ` to finish ahead, ${other.name} of `, make("b", percent(1 - record.chance)), ".");
    next.append(line);
    parts.push(next);
  }

  const graph = card("Ratings over time");
  const key = make("p", undefined, "soft");
  people.forEach((each, index) => key.append(make("span", undefined, index ? "key second" : "key"), `${each.name} `));
  graph.append(key, make("div", undefined, "ranges"), make("figure"), make("p", undefined, "tip"));
  parts.push(graph);

  const races = card("Races together");
  if (met.length) {
    const table = make("table"), body = make("tbody"), head = make("tr");
    for (const text of ["Race", one.name, other.name, "Ended"]) {
      const cell = make("th", text, text === "Race" ? "name" : undefined);
      cell.scope = "col";
      head.append(cell);
    }
    table.append(make("thead"));
    table.tHead.append(head);
    for (const [a, b] of met.slice(0, 50)) {
      const row = make("tr"), heading = make("th");
      heading.scope = "row";
      heading.append(link(raceLink(a.race), a.race.split("/").at(-1)));
      row.append(heading);
      for (const [mine, yours] of [[a, b], [b, a]]) {
        const cell = make("td");
        cell.append(make(place(mine) < place(yours) ? "b" : "span", mine.finish_time === null ? mine.standing : timer(mine.finish_time)));
        if (mine.place && mine.finish_time !== null) cell.append(make("span", ` #${mine.place}`, "of"));
        row.append(cell);
      }
      row.append(make("td", day(a.ended_at), "date"));
      body.append(row);
    }
    table.append(body);
    races.append(table);
    if (met.length > 50) races.append(make("p", `The last 50 of ${met.length}.`, "soft"));
  } else races.append(make("p", "They have not met yet."));
  parts.push(races);
  box.replaceChildren(...parts);

  const series = people.map(each => {
    const minutes = each.history.map(race => Math.floor(new Date(race.ended_at) / 60000));
    return {
      name: each.name, start: minutes[0] ?? 0, steps: minutes.slice(1).map((at, index) => at - minutes[index]),
      before: each.history[0]?.before ?? 0, points: each.history.map(race => race.after),
      places: each.history.map(race => race.place ?? race.standing), entrants: each.history.map(race => race.entrants),
      races: each.history.map(race => segment(race.race.split("/").at(-1))),
      page: each.history.length ? raceLink(each.history[0].race).replace(/[^/]*$/, "") : "",
    };
  });
  window.racebotGraph(graph.querySelector("figure"), {series}, `Ratings of ${one.name} and ${other.name}`);
})();
