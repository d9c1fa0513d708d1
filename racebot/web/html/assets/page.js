// Shows times as "3 minutes ago" or in the reader's zone, closes the list of leaderboards, sorts tables of opponents, loads comparisons, suggests names, marks the reader's own rows, and holds the functions that other scripts share.
"use strict";
(() => {
  const load = async address => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
    return answer;
  };
  // The path segment of a player's id, as the pages write it.
  const segment = id => {
    if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/.test(id)) return id;
    const bytes = String.fromCharCode(...new TextEncoder().encode(id));
    return `~${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  };
  // A name as searches compare it, without case and accents.
  const plain = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = text => plain(text).replace(/['’]/g, "").split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const distance = (a, b) => {
    let row = Array.from({length: b.length + 1}, (_, n) => n), before = row;
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2] + 1 : Infinity;
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]), swapped);
      }
      [before, row] = [row, next];
    }
    return row[b.length];
  };
  const near = (a, b) => {
    const most = b.length > 7 ? 2 : b.length > 3 ? 1 : 0;
    return Math.abs(a.length - b.length) <= most && distance(a, b) <= most;
  };
  // Whether each word of a text may mean a word of a name, but for a typo.
  const like = (name, wanted) => {
    const [known, asked] = [words(name), words(wanted)];
    return asked.length > 0 && (asked.every(one => known.some(other => near(other, one))) || near(known.join(""), asked.join("")));
  };
  // A number with a minus sign in place of a hyphen.
  const number = value => String(value).replace("-", "−");
  const signed = change => number(change > 0 ? `+${change}` : change || "±0");
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const day = (moment, date = new Date(moment)) => `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  // The value by which a cell is sorted: a time, a name or a number.
  const key = cell => {
    const time = cell.querySelector("time"), name = cell.querySelector(".player");
    if (time) return time.dateTime;
    if (name) return name.textContent.trim().toLowerCase();
    const [, sign, digits] = cell.textContent.match(/([<>+−-]?)(\d+(?:\.\d+)?)/) ?? [, "", "0"];
    return Number(digits) * (sign === "−" || sign === "-" ? -1 : 1) + ({"<": -.5, ">": .5}[sign] ?? 0);
  };
  // Another page, with links that work from this one.
  const pageAt = async address => {
    const answer = await load(address);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const [name, where] of [["href", "main a"], ["src", "main img"]]) {
      for (const each of page.querySelectorAll(where)) each.setAttribute(name, new URL(each.getAttribute(name), answer.url));
    }
    return page;
  };
  const rowsOn = async (page, table) => [...(await pageAt(page)).querySelector(table).tBodies[0].rows].map(row => document.adoptNode(row));
  // A table of a list that may have several pages. whole() fetches their rows when they are first needed, and again
  // after a failure, and resolves to whether all are there. makeSortable() turns headings into buttons that sort them.
  const list = (table, pages) => {
    const body = table.tBodies[0], headings = [...table.tHead.rows[0].cells];
    const arrange = rows => {
      const focused = document.activeElement;
      body.replaceChildren(...rows);
      if (focused.isConnected && focused !== document.activeElement) focused.focus({preventScroll: true});
    };
    const sort = () => {
      const index = headings.findIndex(each => each.hasAttribute("aria-sort"));
      if (index < 0) return;
      const sign = headings[index].getAttribute("aria-sort") === "ascending" ? 1 : -1;
      const keyed = [...body.rows].map(row => [key(row.cells[index]), row]);
      keyed.sort(([a], [b]) => a < b ? -sign : a > b ? sign : 0);
      arrange(keyed.map(([, row]) => row));
    };
    let waiting = pages.length ? null : Promise.resolve(true);
    const isHere = page => new URL(page, location).pathname === location.pathname;
    const whole = () => waiting ??= Promise.all(pages.map(page => isHere(page) ? [...body.rows] : rowsOn(page, `.${table.classList[0]}`)))
      .then(parts => {
        arrange(parts.flat());
        sort();
        refresh();
        for (const each of document.querySelectorAll("[data-part], .pager")) each.remove();
        return true;
      }).catch(() => {
        waiting = null;
        return false;
      });
    const makeSortable = () => {
      for (const heading of headings.filter(each => each.dataset.sort)) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = heading.textContent;
        button.addEventListener("click", () => {
          const first = ["name", "player", "place"].includes(heading.dataset.sort) ? "ascending" : "descending";
          const other = first === "ascending" ? "descending" : "ascending";
          const direction = heading.getAttribute("aria-sort") === first ? other : first;
          for (const each of headings) each.removeAttribute("aria-sort");
          heading.setAttribute("aria-sort", direction);
          whole().then(sort);
        });
        heading.replaceChildren(button);
      }
    };
    return {headings, whole, makeSortable};
  };
  // The reader's choice, which the address holds as on a server, so that it can be shared.
  const choice = new URLSearchParams(location.search);
  const choose = values => {
    for (const [name, value] of Object.entries(values)) {
      if (value) choice.set(name, value);
      else choice.delete(name);
    }
    try {
      history.replaceState(null, "", String(choice) ? `?${choice}` : location.pathname);
    } catch {
      // Safari refuses after 100 changes in 10 seconds. The page shows the choice nevertheless.
    }
  };
  // Fill in a form as the address chooses. What the reader entered before the scripts came wins.
  const fill = form => {
    for (const field of form.elements) {
      if (["", "at", "sort"].includes(field.name)) continue;
      const options = [...field.options ?? []];
      const initial = (options.find(each => each.defaultSelected) ?? options[0])?.value ?? field.defaultValue;
      if (field.value !== initial) choose({[field.name]: field.value});
      else if (choice.has(field.name)) field.value = choice.get(field.name);
    }
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
  const relative = new Intl.RelativeTimeFormat("en");
  const clock = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium", timeStyle: "short"});
  const local = time => clock.format(new Date(time.dateTime)).replace("Sept", "Sep");
  // Which player the reader is, which only the browser keeps.
  const KEPT = "racebot-me";
  const kept = () => {
    try {
      return JSON.parse(localStorage.getItem(KEPT));
    } catch {
      return null;
    }
  };
  const keep = reader => {
    try {
      if (reader) localStorage.setItem(KEPT, JSON.stringify(reader));
      else localStorage.removeItem(KEPT);
    } catch {
      // The browser keeps nothing, so the choice ends with this page.
    }
  };
  const ownPage = pattern => pattern.replace("/ID.", `/${[kept().player, kept().board].filter(Boolean).join("/")}.`);
  const playerOf = link => new URL(link.href).pathname.match(/\/players\/([^/]+?)(?:\.html|\/|$)/)?.[1];
  const BOARD = /\/(?:players\/[^/]+|leaderboards)\/([^/]+\/[^/]+?)(?:\.html|\/|$)/;
  const mark = () => {
    const player = kept()?.player;
    for (const button of document.querySelectorAll("[data-me]")) button.setAttribute("aria-pressed", String(button.dataset.me === player));
    for (const each of document.querySelectorAll(".me > .hidden.you")) each.remove();
    for (const each of document.querySelectorAll(".me")) each.classList.remove("me");
    if (!player) return;
    for (const link of document.querySelectorAll("main a.player")) {
      if (playerOf(link) !== player) continue;
      link.closest("tr, li, .person")?.classList.add("me");
      if (!link.querySelector(".you")) link.insertAdjacentHTML("beforeend", '<span class="hidden you"> (you)</span>');
    }
  };
  // Arrow keys step through the lines, bars or days of a drawing, and say what each one's title says.
  const drawings = new WeakMap();
  const step = (svg, to) => {
    const items = drawings.get(svg), at = Math.max(0, Math.min(items.length - 1, to));
    for (const each of items) each.classList.toggle("at", each === items[at]);
    const text = items[at].querySelector("title").textContent;
    svg.setAttribute("aria-valuenow", at + 1);
    svg.setAttribute("aria-valuetext", text);
    const tip = svg.closest(".card")?.querySelector(".tip");
    if (tip) tip.textContent = text;
  };
  const makeDrawings = () => {
    for (const svg of document.querySelectorAll("svg.graph[role=img]")) {
      const items = [...svg.querySelectorAll("title")].map(each => each.parentNode);
      if (svg.closest("[data-graph]") || !items.length) continue;
      drawings.set(svg, items);
      svg.closest("[role=region]")?.removeAttribute("tabindex");
      const tip = svg.closest(".card")?.querySelector(".tip");
      if (tip) tip.textContent ||= "Tap or point at the drawing, or use the arrow keys, for details.";
      for (const [name, value] of [["role", "slider"], ["tabindex", 0], ["aria-valuemin", 1], ["aria-valuemax", items.length], ["aria-valuenow", 1], ["aria-valuetext", items[0].textContent]]) svg.setAttribute(name, value);
      svg.addEventListener("pointerover", event => items.includes(event.target) && step(svg, items.indexOf(event.target)));
      svg.addEventListener("keydown", event => {
        if (event.altKey || event.ctrlKey || event.metaKey) return; // keys of the browser
        const at = items.findIndex(each => each.classList.contains("at")), last = items.length - 1;
        const to = {ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: last}[event.key];
        if (to === undefined) return;
        event.preventDefault();
        step(svg, to);
        items[Math.max(0, Math.min(last, to))].scrollIntoView({block: "nearest", inline: "nearest"});
      });
    }
  };
  const nearView = new IntersectionObserver(seen => {
    for (const {isIntersecting, target} of seen) target.classList.toggle("seen", isIntersecting || target.classList.contains("seen"));
  }, {rootMargin: "100px"});
  const refresh = () => {
    mark();
    document.querySelectorAll(".face:has(img):not(.seen)").forEach(face => nearView.observe(face));
    makeDrawings();
    for (const link of document.querySelectorAll("a[data-whole]")) link.textContent = link.href;
    for (const each of document.querySelectorAll("s[data-from]")) if (Date.now() - new Date(each.dataset.from) > 6e4) each.remove();
    for (const time of document.querySelectorAll("time[data-hour]")) time.textContent = local(time);
    for (const time of document.querySelectorAll("time[data-day]")) time.textContent = local(time).split(",")[0];
    for (const time of document.querySelectorAll("time[data-time]")) time.textContent = new Date(time.dateTime).toTimeString().slice(0, 5);
    for (const time of document.querySelectorAll("time[title]")) time.title = local(time);
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const seconds = (Date.now() - new Date(time.dateTime)) / 1000;
      const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", 60];
      const ago = Math.abs(seconds) < 60 ? "just now" : relative.format(-Math.round(seconds / size), unit);
      time.textContent = ago + time.dataset.ago;
    }
  };
  // The front page begins with the reader's standing, or asks who they are.
  const yours = document.getElementById("yours"), asking = yours?.innerHTML;
  const standing = async () => {
    const reader = kept();
    if (!yours) return;
    if (!reader) {
      if (yours.dataset.shown) {
        yours.innerHTML = asking;
        nameFieldsIn(yours);
      }
      delete yours.dataset.shown;
      return;
    }
    const link = Object.assign(document.createElement("a"), {className: "player", href: ownPage(yours.dataset.page), textContent: reader.name});
    const words = document.createElement("span"), forget = Object.assign(document.createElement("button"), {type: "button", className: "button", textContent: "Not you?"});
    forget.addEventListener("click", () => choosePlayer(null));
    yours.dataset.shown = "yes";
    const held = yours.contains(document.activeElement);
    yours.replaceChildren(link, words, forget);
    if (held) link.focus();
    // What all racers did, so that the server does not learn which of them the reader is.
    const pages = yours.dataset, json = address => load(address).then(answer => answer.json()).catch(() => null), isMe = each => segment(each.id ?? each.player ?? "") === reader.player;
    const board = reader.board ?? document.querySelector("main h3 a")?.pathname.match(BOARD)?.[1], at = pattern => pattern.replace("CATEGORY/BOARD", board);
    const title = [...document.querySelectorAll("main .card a:not(.player)")].find(each => each.pathname.match(BOARD)?.[1] === board)?.textContent ?? "";
    let text = "";
    if (board && pages.scored.split(" ").includes(board)) {
      const table = await json(at(pages.scores)), mine = table?.racers.find(isMe);
      if (table) text = mine ? `score ${mine.score.toFixed(1)}, place ${mine.place} of ${table.racers.length} on ${title}` : `no score on ${title}`;
    } else if (board) {
      let found = null, report = null;
      for (let page = 1; !found && report?.players.length !== 0; page++) {
        report = await json(`${at(pages.data)}?per_page=1000&page=${page}`) ?? {players: []};
        found = report.players.find(isMe);
        if (report.players.length < 1000) break;
      }
      if (report.leaderboard) text = found ? `${number(found.points)} points, place ${found.place} of ${report.total ?? report.players.length} on ${report.leaderboard}` : `not ranked on ${report.leaderboard}`;
      const recent = found && pages.changes && await json(`${at(pages.changes)}?after=${Math.max(0, report.races - 20)}`);
      const today = recent ? recent.changes.filter(each => isMe(each) && new Date(each.ended_at).toDateString() === new Date().toDateString()) : [];
      if (today.length) text += `, ${signed(today.reduce((sum, each) => sum + each.change, 0))} today`;
    }
    words.textContent = text;
    const room = pages.live && (await json(pages.live))?.rooms.find(each => each.leaderboards.some(one => one.entrants.some(isMe)));
    if (room) words.append(", in ", Object.assign(document.createElement("a"), {href: room.page, textContent: room.race.split("/").at(-1)}), " now");
  };
  const choosePlayer = reader => {
    keep(reader);
    mark();
    standing();
  };
  document.addEventListener("click", event => {
    const button = event.target.closest("[data-me]"), link = event.target.closest("a.player"), copy = event.target.closest("[data-copy]");
    if (copy) {
      const text = copy.previousElementSibling;
      (async () => navigator.clipboard.writeText(text.href))().then(() => { copy.textContent = "Copied"; }, () => getSelection().selectAllChildren(text));
    }
    if (button) choosePlayer(button.getAttribute("aria-pressed") === "true" ? null : {player: button.dataset.me, name: button.dataset.name, board: location.pathname.match(BOARD)?.[1]});
    else if (link?.closest(location.hash === "#me" ? "#results" : ".yours .suggestions")) {
      if (yours) event.preventDefault();
      choosePlayer({player: playerOf(link), name: link.textContent.trim(), board: link.pathname.match(BOARD)?.[1]});
    }
  });
  const seen = document.querySelector("[data-me]"), latest = kept();
  if (latest && seen?.dataset.me === latest.player) keep({...latest, board: location.pathname.match(BOARD)?.[1]});
  refresh();
  standing();
  // The reader's own row of a race is open, as is the one that the address names.
  const openOwn = () => document.querySelectorAll("table.race tr:is(.me, :target, :has(:target)) details").forEach(each => { each.open = true; });
  openOwn();
  addEventListener("hashchange", openOwn);
  // Of several leaderboards, the reader's own is open at first.
  for (const each of document.querySelectorAll(".boards")) if (each.dataset.board === kept()?.board) each.open = true;
  const own = location.hash === "#me" && kept() && document.getElementById("me")?.dataset.page;
  if (own) location.replace(ownPage(own));
  setInterval(refresh, 60000);
  document.addEventListener("visibilitychange", refresh);
  window.racebot = {choice, choose, fill, load, pageAt, segment, plain, like, number, signed, day, MONTHS, key, list, refresh, openOwn};

  // The races by hour of the week, counted anew in the reader's zone. Their starts are half hours, each since the one before.
  for (const table of document.querySelectorAll("table[data-starts]")) {
    const cells = table.querySelectorAll("td"), counts = Array(cells.length).fill(0);
    table.dataset.starts.split(" ").reduce((before, step) => {
      const start = before + Number(step), date = new Date(start * 18e5);
      counts[7 * date.getHours() + (date.getDay() + 6) % 7] += 1;
      return start;
    }, 0);
    cells.forEach((cell, n) => Object.assign(cell, {textContent: counts[n] || "", className: `l${Math.ceil(3 * counts[n] / Math.max(...counts))}`}));
    table.caption.querySelector("span").textContent = "your zone";
  }

  // The switch opens with its filter, which names the other leaderboards first, and follows Enter to the first of them.
  for (const field of document.querySelectorAll(".switch input")) {
    const rows = [...field.closest("ul").querySelectorAll("li:has(a)")], own = rows.find(row => row.querySelector("[aria-current]"));
    const filter = () => {
      const wanted = plain(field.value.trim());
      for (const row of rows) row.hidden = ![plain(row.textContent), row.dataset.latin ?? ""].some(name => name.includes(wanted));
      if (wanted) rows[0].parentNode.append(own);
      else field.closest("li").after(...rows);
    };
    field.addEventListener("input", filter);
    field.addEventListener("keydown", event => {
      if (event.key === "Enter") field.closest("ul").querySelector("li:has(a):not([hidden]) a")?.click();
    });
    field.closest("details").addEventListener("toggle", ({target}) => {
      field.value = "";
      filter();
      if (target.open && matchMedia("(pointer: fine)").matches) field.focus();
    });
  }
  const openSwitches = () => [...document.querySelectorAll("details.switch[open]")];
  document.addEventListener("click", event => {
    for (const each of openSwitches()) if (!each.contains(event.target)) each.open = false;
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    for (const each of openSwitches()) {
      if (each.contains(document.activeElement)) each.firstChild.focus();
      each.open = false;
    }
  });

  // The page of a server's search shows what it finds while the reader types; the overlay studio, what the reader chooses.
  // The studio names colors that are none, and hides what does not belong to the overlay.
  const tell = form => {
    const words = form.querySelector("[data-error]"), wrong = [...form.querySelectorAll(":invalid[pattern]")].map(each => each.labels[0].textContent.trim());
    if (words) words.textContent = wrong.length ? words.dataset.error.replace("{colors}", wrong.join(", ")) : "";
    for (const each of form.querySelectorAll("[data-of]")) each.toggleAttribute("data-off", !each.dataset.of.split(" ").includes(form.overlay.value));
    for (const picker of form.querySelectorAll("[type=color]")) {
      const field = picker.previousElementSibling, given = (field.value || field.placeholder).replace("#", ""), digits = given.length < 6 ? given.replace(/./g, "$&$&") : given;
      picker.value = `#${digits.slice(0, 6)}`;
      picker.toggleAttribute("data-clear", digits.slice(6) === "00");
    }
  };
  for (const form of document.querySelectorAll("form[data-found]")) {
    tell(form);
    form.addEventListener("input", ({target}) => {
      const field = target.previousElementSibling;
      if (target.type === "color") field.value = target.value.slice(1) + (target.matches("[data-clear]") ? "" : field.value.replace("#", "").slice(6)); // a chosen color is seen
      tell(form);
    });
    let latest = 0, pause = 0;
    const ask = async () => {
      const turn = ++latest, address = new URL(form.action);
      address.search = new URLSearchParams(new FormData(form));
      if (!form.checkValidity()) return;
      const page = !form.q || form.q.value.trim() ? await pageAt(address).catch(() => null) : document.implementation.createHTMLDocument();
      if (!page || turn !== latest) return;
      document.getElementById(form.dataset.found).replaceChildren(...page.querySelectorAll("#results > *"));
      if ("keeps" in form.dataset) history.replaceState(null, "", address);
      document.getElementById("presets")?.replaceWith(page.getElementById("presets"));
      refresh();
    };
    form.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(ask, 150);
    });
  }

  // A name field suggests what a server, or the index of an export, finds. With data-pick, a player is put into the field.
  // Scripts run in their order: the search needs the index.
  const script = src => new Promise((done, failed) => document.head.append(Object.assign(document.createElement("script"), {src, async: false, onload: done, onerror: failed})));
  let nameFields = 0;
  const nameField = field => {
    const {names, index, root, pick} = field.dataset, box = document.createElement("div"), several = pick === "names";
    const set = (element, values) => Object.entries(values).forEach(([name, value]) => element.setAttribute(name, value));
    set(box, {class: "suggestions", id: `suggestions-${++nameFields}`, role: "listbox", "aria-label": "Suggestions"});
    set(field, {role: "combobox", "aria-autocomplete": "list", "aria-controls": box.id, "aria-expanded": false, "aria-label": field.ariaLabel ?? field.labels[0].textContent.trim()});
    field.after(box);
    let latest = 0, pause = 0, links = [], at = -1, loading = null;
    const choose = to => {
      at = to;
      links.forEach((each, n) => each.setAttribute("aria-selected", n === at));
      links[at]?.scrollIntoView({block: "nearest"});
      set(field, {"aria-activedescendant": links[at]?.id ?? ""});
    };
    const show = found => {
      box.replaceChildren(...found);
      if (pick) for (const each of box.querySelectorAll("li:not(:has(a.player[href*='players/'])), h2")) each.remove();
      for (const each of box.querySelectorAll("section, ul, li, h2")) each.setAttribute("role", "presentation");
      links = [...box.querySelectorAll("a")];
      links.forEach((each, n) => set(each, {role: "option", tabindex: -1, id: `${box.id}-${n}`}));
      field.setAttribute("aria-expanded", links.length > 0);
      choose(-1);
    };
    const me = () => {
      const reader = kept(), list = Object.assign(document.createElement("ul"), {className: "card list"});
      if (!reader || !pick) return [];
      list.append(document.createElement("li"));
      list.firstChild.append(Object.assign(document.createElement("a"), {className: "player", href: `players/${reader.player}.html`, textContent: reader.name}));
      return [list];
    };
    const find = async wanted => {
      if (names) return [...(await pageAt(new URL(`${names}?q=${encodeURIComponent(wanted)}`, location))).querySelectorAll("#results > *")];
      await (loading ??= Promise.all(index.split(" ").map(script)));
      return window.racebot.find(wanted, root);
    };
    const ask = async () => {
      const turn = ++latest, wanted = (several ? field.value.split(",").at(-1) : field.value).trim();
      const found = wanted ? await find(wanted).catch(() => []) : me();
      if (turn === latest) show(found);
    };
    field.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(ask, 150);
    });
    field.addEventListener("focus", () => field.value || ask());
    field.addEventListener("keydown", event => {
      const to = {ArrowDown: Math.min(at + 1, links.length - 1), ArrowUp: at - 1}[event.key], chosen = links[at] ?? (links.length === 1 && !several ? links[0] : null);
      if (event.key === "Escape") show([]);
      else if (to !== undefined && to >= -1) choose(to);
      else if (event.key === "Enter" && chosen) chosen.click();
      else return;
      event.preventDefault();
    });
    box.addEventListener("mousedown", event => event.preventDefault()); // the field keeps the focus
    if (pick) box.addEventListener("click", event => {
      const link = event.target.closest("a");
      if (!link) return;
      event.preventDefault();
      event.stopPropagation();
      const name = link.textContent.replace(" (you)", "").trim(), before = several ? field.value.split(",").slice(0, -1).map(each => each.trim()) : [];
      field.value = pick === "id" ? playerOf(link) : [...before, name].join(", ");
      show([]);
      if (field.form.dataset.found) field.form.dispatchEvent(new Event("input"));
      else if (!several) field.form.requestSubmit();
    });
  };
  const nameFieldsIn = part => part.querySelectorAll("input[data-names], input[data-index]").forEach(nameField);
  nameFieldsIn(document);

  for (const table of document.querySelectorAll("table.opponents")) list(table, table.dataset.pages.split(" ").filter(Boolean)).makeSortable();
})();
