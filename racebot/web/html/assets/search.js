// Searches the players and leaderboards of exported pages. Accents and typos are forgiven.
"use strict";
(() => {
  const index = window.racebotIndex, {players, boards, latin} = index ?? {players: [], boards: [], latin: {}};
  const {choose, fill, like, number, plain, segment} = window.racebot;
  const matches = (entries, wanted) => {
    const spellings = name => Object.hasOwn(latin, name) ? [plain(name), latin[name]] : [plain(name)];
    const named = entries.map(([address, name, ...about]) => [address, name, spellings(name), ...about]);
    const exact = named.filter(([, , names]) => names.some(name => name.includes(wanted)));
    if (exact.length) return exact.sort((a, b) => a[1].length - b[1].length);
    return named.filter(([, , names]) => names.some(name => like(name, wanted)));
  };
  const make = (tag, kind, ...inside) => {
    const element = document.createElement(tag);
    element.className = kind;
    element.append(...inside);
    return element;
  };
  let root = "";
  const link = (address, name) => Object.assign(make("a", "player", make("bdi", "", name)), {href: root + address});
  // A picture's address, or initials after the number of their color.
  const face = text => {
    const [color, ...initials] = text;
    return text.includes("/") ? Object.assign(make("img", "face"), {loading: "lazy", src: root + text, width: 30, height: 30, alt: ""})
      : Object.assign(make("span", `face c${color}`, initials.join("")), {ariaHidden: "true"});
  };
  const section = (title, items) => items.length
    ? [make("section", "card", make("h2", "", title), make("ul", "list", ...items))] : [];
  const person = ([id, name, , look, points, board]) => {
    const page = boards[board]?.[0].replace("leaderboards/", "/") ?? ".html";
    const who = make("span", "who", face(look), make("span", "", link(`players/${segment(id)}${page}`, name)));
    if (points === undefined) return make("li", "", who);
    return make("li", "", who, make("b", "", `${number(points)} `, make("span", "soft", boards[board][1])));
  };
  // The sections of what is found. Links are relative to the pages' root.
  const find = (text, base = "") => {
    const wanted = plain(text.trim());
    root = base;
    const people = wanted ? matches(players, wanted).slice(0, 20) : [];
    const places = wanted ? matches(boards, wanted).slice(0, 20) : [];
    return [...section("Players", people.map(person)),
      ...section("Leaderboards", places.map(([address, name, , category]) =>
        make("li", "", link(address, name), ...(category ? [make("span", "soft", category)] : []))))];
  };
  window.racebot.find = find;
  const form = document.getElementById("search"), results = document.getElementById("results"), found = document.querySelector(".found");
  if (!form) return;
  const search = () => {
    const sections = find(form.q.value);
    results.replaceChildren(...sections);
    found.textContent = !form.q.value.trim() || sections.length ? ""
      : index ? "Nothing found. Players appear after their first rated race." : "The list of players can't be loaded here.";
  };
  fill(form);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("input", () => {
    choose({q: form.q.value});
    search();
  });
  search();
  // The button of a room offers the racers of its race first.
  const race = new URLSearchParams(location.search).get("race");
  if (race && !form.q.value) window.racebot.load(`api/races/${race.split("/").map(segment).join("/")}.json`).then(answer => answer.json()).then(({result}) => {
    const racers = result.flatMap(each => players.filter(([id]) => id === each.id).map(([id, name, ...about]) => [id, name, [], ...about]));
    if (!form.q.value) results.replaceChildren(...section(`Racers of ${race.split("/").at(-1)}`, racers.map(person)));
  }).catch(() => {}); // it is not recorded yet
})();
