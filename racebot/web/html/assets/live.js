// Keeps the live page and the overlays up to date; without this they show the state at load.
"use strict";
(() => {
  const shown = document.getElementById("live");
  const notice = document.getElementById("live-lost"); // only on the live page
  const again = 15000;
  const patience = 3000;
  const silence = 120000;
  const anchor = decodeURIComponent(location.hash.slice(1)); // the room that a reader came for
  let source = null;
  let last = null;
  let retry = 0;
  let lost = 0;
  let heard = 0;
  let final = !shown.dataset.events; // nothing to follow: a sample, or once the race of the page is recorded

  // Change only what differs, so that the reader's focus and selection stay, and pictures do not flicker.
  const keyOf = node => node.dataset?.key || node.id || "";
  const update = (old, fresh) => {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeName !== fresh.nodeName) old.replaceWith(fresh);
    else if (old.nodeType !== Node.ELEMENT_NODE) old.nodeValue = fresh.nodeValue;
    else {
      for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name); // the reader opened it
      for (const { name, value } of fresh.attributes) {
        if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value); // the same `src` would load again
      }
      merge(old, fresh);
    }
  };
  const merge = (old, fresh) => {
    const wanted = new Set([...fresh.childNodes].map(keyOf));
    for (const node of [...old.childNodes]) if (!wanted.has(keyOf(node))) node.remove();
    const known = new Map([...old.childNodes].filter(keyOf).map(node => [keyOf(node), node]));
    let next = old.firstChild;
    const skip = () => {
      const skipped = next;
      next = next.nextSibling;
      return skipped;
    };
    for (const node of [...fresh.childNodes]) {
      const match = known.get(keyOf(node));
      // A node that moves loses the focus, so what stands in its way goes instead.
      while (match && next && !keyOf(next)) skip().remove();
      const here = match || (next && !keyOf(next) && next.nodeName === node.nodeName ? next : null);
      if (!here) old.insertBefore(document.adoptNode(node), next);
      else {
        if (here === next) skip();
        else old.insertBefore(here, next);
        update(here, node);
      }
    }
    while (next) skip().remove();
  };
  // A room in another state, or with other rows, is drawn anew, so that nothing slides. Else only what differs changes.
  const shape = root => [...root.querySelectorAll("[data-stage], [data-key]")].map(each => each.dataset.stage ?? each.dataset.key).join();
  const boardOf = each => `${each.getAttribute("name")} ${[...each.parentNode.querySelectorAll(":scope > .boards")].indexOf(each)}`;
  const show = fresh => {
    const focused = document.activeElement, boards = [...shown.querySelectorAll(".boards[open]")].map(boardOf), open = [...shown.querySelectorAll("tr:has(details[open])")].map(keyOf).filter(Boolean);
    if (shape(shown) === shape(fresh)) merge(shown, fresh);
    else {
      for (const row of fresh.querySelectorAll("tr")) if (open.includes(keyOf(row))) for (const each of row.querySelectorAll("details")) each.open = true;
      shown.replaceChildren(...fresh.childNodes);
    }
    for (const each of shown.querySelectorAll(".boards")) if (boards.includes(boardOf(each))) each.open = true; // one that replaces another of its name comes closed
    const same = focused.isConnected ? focused : shown.querySelector(`[href="${CSS.escape(focused.getAttribute("href") ?? "")}"]`);
    if (same && same !== document.activeElement) same.focus({preventScroll: true});
  };

  // The time since a race started.
  const tick = () => {
    const two = number => String(Math.floor(number) % 60).padStart(2, "0");
    for (const clock of shown.querySelectorAll("time[data-clock]")) {
      const seconds = Math.max(0, (Date.now() - Number(shown.dataset.delay ?? 0) * 1000 - new Date(clock.dateTime)) / 1000);
      clock.textContent = `${Math.floor(seconds / 3600)}:${two(seconds / 60)}:${two(seconds)}`;
    }
  };
  // An overlay counts the rows that its height has no room for.
  const fit = () => {
    const more = document.getElementById("more");
    if (!more) return;
    const rows = [...shown.querySelectorAll("tbody tr")];
    for (const row of rows) row.hidden = false;
    let left = Number(more.dataset.more);
    const height = document.body.clientHeight - 2 * parseFloat(getComputedStyle(document.body).paddingTop);
    while (true) {
      more.hidden = left === 0;
      more.textContent = `and ${left} more player${left === 1 ? "" : "s"}`;
      if (rows.length < 2 || shown.offsetHeight <= height) return;
      rows.pop().hidden = true;
      left += 1;
    }
  };
  const tell = () => {
    if (notice) notice.hidden = false;
  };
  const miss = () => {
    lost = lost || setTimeout(tell, patience);
  };
  const found = () => {
    clearTimeout(lost);
    lost = 0;
    if (notice) notice.hidden = true;
  };
  const stop = () => {
    clearTimeout(retry);
    if (source) source.close();
  };
  const delay = 1000 * Number(shown.dataset.delay ?? 0); // of an overlay, for streams that are behind
  const receive = text => {
    heard = Date.now();
    found();
    if (delay) setTimeout(() => display(text), delay);
    else display(text);
  };
  // Screen readers hear of each racer who is in or out, a few at a time. The table itself and its clock stay silent.
  const said = document.getElementById("live-said");
  let told = null, toTell = [], telling = 0;
  const listen = () => {
    if (!said) return;
    const ended = new Map([...shown.querySelectorAll("tr[data-key]")].flatMap(row => {
      const [place, name] = [".place", ".player"].map(each => row.querySelector(each)?.textContent.trim());
      return place && name ? [[`${row.closest("section")?.id} ${row.dataset.key}`, [name, place]]] : [];
    }));
    const moved = (before, place) => before !== place && (isNaN(before) || isNaN(place)); // not from one place to another
    if (told) for (const [key, [name, place]] of ended) if (moved(told.get(key)?.[1], place)) toTell.push(`${name}: ${place}`);
    told = new Map([...told ?? [], ...ended]);
    if (toTell.length) telling ||= setTimeout(() => {
      said.textContent = [...new Set(toTell)].join(", ");
      [toTell, telling] = [[], 0];
    }, 1000);
  };
  const display = text => {
    if (text === last) return;
    last = text;
    const fresh = new DOMParser().parseFromString(last, "text/html").body;
    const page = anchor && document.getElementById(anchor)?.dataset.page, changed = shown.querySelector("table.race");
    const footer = document.querySelector("footer"), top = footer?.getBoundingClientRect().top;
    show(fresh);
    if (page && !document.getElementById(anchor)) location.replace(page); // it has just been recorded
    final = shown.querySelector("[data-recorded]") !== null;
    if (final) stop();
    document.title = shown.querySelector("[data-title]")?.dataset.title ?? document.title;
    tick();
    listen();
    if (!notice) return fit();
    window.racebot.refresh();
    if (!changed) window.racebot.openOwn();
    if (top < innerHeight) scrollBy({top: footer.getBoundingClientRect().top - top, behavior: "instant"}); // a footer in view stays where it is
  };
  const follow = () => {
    stop();
    if (final) return;
    heard = Date.now();
    source = new EventSource(shown.dataset.events);
    source.onmessage = message => receive(message.data);
    source.onerror = () => {
      miss();
      // The browser connects again by itself, unless the server refused.
      if (source.readyState !== EventSource.CLOSED) return;
      fetch(shown.dataset.events.replace("events/", "")).then(answer => answer.ok && answer.text().then(receive)).catch(() => {});
      retry = setTimeout(follow, again);
    };
  };
  // A live page that nobody looks at gives up its place among the server's streams. Overlays are always current.
  const followIfSeen = () => (notice && document.hidden ? stop() : follow());
  if (notice) document.addEventListener("visibilitychange", followIfSeen);
  followIfSeen();
  tick();
  listen();
  if (!notice) {
    fit();
    addEventListener("resize", fit);
  }
  setInterval(() => {
    tick();
    // A connection can end without a word, for instance while the computer sleeps.
    if (final || source?.readyState !== EventSource.OPEN || Date.now() - heard < silence) return;
    miss();
    follow();
  }, 1000);
})();
