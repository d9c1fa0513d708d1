// Compares two players in exported pages, on a page of the first, whose address names the other as ?vs=ID.
"use strict";
(async () => {
  const {load, number, segment, day} = window.racebot, query = new URLSearchParams(location.search);
  // Fill in a piece of HTML. Values are escaped, except for pieces and lists of pieces.
  const escaped = value => value instanceof Array ? value.map(escaped).join("")
    : value?.html ?? String(value).replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`);
  const html = (parts, ...values) => ({html: String.raw({raw: parts}, ...values.map(escaped))});
  const cut = (name, most) => [...name].length > most ? `${[...name].slice(0, most - 1).join("")}…` : name;
  const percent = share => share > 0 && share < .005 ? "<1%" : share < 1 && share >= .995 ? ">99%" : `${Math.round(100 * share)}%`;
  const timer = seconds => {
    const whole = Math.floor(seconds), two = n => String(n).padStart(2, "0");
    return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  };
  const ordinal = n => n + (Math.floor(n / 10) % 10 === 1 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th");
  const place = race => race.place ?? Infinity;
  // The races of two players together, the newest first, and how often the first was ahead and behind.
  const meetings = (one, other) => {
    const theirs = new Map(other.history.map(race => [race.race, race]));
    const met = one.history.filter(race => theirs.has(race.race)).map(race => [race, theirs.get(race.race)]).reverse();
    const chance = one.opponents.find(each => each.id === other.id)?.chance;
    return {met, chance, ahead: met.filter(([a, b]) => place(a) < place(b)).length, behind: met.filter(([a, b]) => place(a) > place(b)).length};
  };
  const failed = location.protocol === "file:" ? "Browsers compare players on websites only, not in a folder." : "The comparison can't be loaded here.";
  const opponents = document.querySelector("table[data-compare]");
  if (!opponents) return;
  const {root, board} = opponents.dataset, ids = [opponents.dataset.player, query.get("vs")];
  const page = id => `${root}players/${segment(id)}/${board}.html`;
  const raceLink = race => `${root}races/${race.split("/").map(segment).join("/")}.html`;
  const races = count => count === 1 ? "1 race" : `${count} races`;

  const main = document.getElementById("main");
  let people;
  try {
    people = await Promise.all(ids.map(async id => {
      const [data, own] = await Promise.all([load(`${root}api/leaderboards/${board}/players/${segment(id)}.json`), load(page(id))]);
      const hero = new DOMParser().parseFromString(await own.text(), "text/html").querySelector(".hero");
      const face = hero.querySelector(".face"), picture = face.querySelector("img");
      picture?.setAttribute("src", new URL(picture.getAttribute("src"), own.url));
      return {...await data.json(), name: hero.querySelector("h1").textContent.trim(), face: {html: face.outerHTML}};
    }));
  } catch {
    const known = document.getElementById(`vs-${segment(ids[1])}`)?.querySelector("a.player");
    main.insertAdjacentHTML("afterbegin", html`<p class="lead" role="status">${failed}${known ? html` See also <a href="${known.href}">the other player</a>.` : ""}</p>`.html);
    return;
  }
  const [one, other] = people;
  const {met, chance, ahead, behind} = meetings(one, other);
  const chances = [percent(chance), percent(1 - chance)];
  const shown = met.slice(0, 50);
  const drawn = new Set(people.flatMap(each => each.history.map(race => race.ended_at))).size > 1;
  document.title = `${cut(one.name, 40)} vs ${cut(other.name, 40)}`;

  const person = each => html`<div class="person">${each.face}<a class="player" href="${page(each.id)}"><bdi>${cut(each.name, 60)}</bdi></a><span class="soft">${number(each.points)} points${each.place ? `, place ${each.place}` : ""}</span></div>`;
  const result = (mine, yours, index) => {
    const words = mine.finish_time === null ? html`${mine.place ? ordinal(mine.place) : mine.standing}` : html`${timer(mine.finish_time)}${mine.place ? html`<span class="of"> ${ordinal(mine.place)}</span>` : ""}`;
    return html`<td role="cell" class="${index ? "e" : "c"}"><span class="narrow key${index ? " second" : ""}"></span>${place(mine) < place(yours) ? html`<b>${words}</b>` : words}</td>`;
  };
  const row = ([a, b]) => html`<tr role="row"><th scope="row" role="rowheader" class="b"><a href="${raceLink(a.race)}">${a.race.split("/").at(-1)}</a></th>${result(a, b, 0)}${result(b, a, 1)}<td role="cell" class="date d">${day(a.ended_at)}</td></tr>`;
  const header = (text, kind) => html`<th scope="col" role="columnheader" class="${kind}">${text}</th>`;
  main.innerHTML = html`
${{html: main.querySelector(".over").outerHTML}}
<h1 class="hidden">${document.title}</h1>
<section class="card facing" aria-label="Record">${person(one)}<div><div class="score"><span class="hidden">Races ahead: </span>${ahead} – ${behind}</div><div class="soft">${races(met.length)} together</div></div>${person(other)}</section>
${chance === undefined ? "" : html`<section class="card both"><h2>Next time</h2>
<p>${chances[0] === chances[1] ? "Both have the same chance of finishing ahead." : html`${cut(one.name, 40)} has a <b>${chances[0]}</b> chance of finishing ahead, ${cut(other.name, 40)} <b>${chances[1]}</b>.`}</p>
<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="8"/><rect width="${100 * chance}" height="8"/></svg></section>`}
${drawn ? html`<section class="card"><h2>Ratings over time</h2>
<p class="keys">${people.map((each, index) => html`<span><span class="key${index ? " second" : ""}"></span>${cut(each.name, 40)}</span>`)}</p>
<div class="ranges"></div><figure></figure><p class="tip"></p></section>` : ""}
<section class="card"><h2>Races together</h2>
${met.length ? html`<table class="two" role="table"><caption class="hidden">Races together, newest first</caption><thead><tr role="row">${header("Race", "name")}${people.map(each => header(cut(each.name, 24), "wrap"))}${header("Ended", "wide")}</tr></thead><tbody>${shown.map(row)}</tbody></table>` : html`<p>They have not met yet.</p>`}
${met.length > shown.length ? html`<p><button type="button" class="button" id="all">All ${races(met.length)}</button></p>` : ""}</section>`.html;
  document.getElementById("all")?.addEventListener("click", ({target}) => {
    main.querySelector("table.two tbody").insertAdjacentHTML("beforeend", met.slice(shown.length).map(row).map(each => each.html).join(""));
    target.parentElement.remove();
  });
  scrollTo(0, 0);

  if (!drawn) return;
  const series = people.map(each => {
    const minutes = each.history.map(race => Math.floor(new Date(race.ended_at) / 60000));
    return {
      name: each.name, start: minutes[0], steps: minutes.slice(1).map((at, index) => at - minutes[index]),
      before: each.history[0].before, points: each.history.map(race => race.after),
      places: each.history.map(race => race.place ?? race.standing), entrants: each.history.map(race => race.entrants),
      races: each.history.map(race => segment(race.race.split("/").at(-1))),
      page: raceLink(each.history[0].race).replace(/[^/]*$/, ""),
    };
  });
  window.racebot.graph(main.querySelector("figure"), {series}, `Ratings of ${one.name} and ${other.name}`);
})();
