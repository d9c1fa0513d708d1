// Makes a graph interactive: a crosshair by mouse, touch and keys, ranges and zoom. The page works without it.
"use strict";
window.racebot.graph = (figure, data, label) => {
  const RIGHT = 14, TOP = 20, BOTTOM = 40;
  const DAY = 1440, MONTH = 30.44 * DAY, MOST_DOTS = 60;
  const make = (name, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    parent?.append(element);
    return element;
  };
  const {number, signed, day, MONTHS} = window.racebot;

  // Decode the series. A race that was recorded late is drawn at the date of the race before it.
  const series = data.series.map((raw, row) => {
    let at = raw.start, latest = raw.start;
    const unnamed = raw.points.length - raw.races.length;
    return raw.points.map((points, index) => {
      at += index ? raw.steps[index - 1] : 0;
      latest = Math.max(latest, at);
      return {
        row, points, index, at: latest, date: at, place: raw.places[index], entrants: raw.entrants[index],
        change: points - (index ? raw.points[index - 1] : raw.before),
        race: index < unnamed ? null : raw.races[index - unnamed], page: raw.page, name: raw.name,
      };
    });
  });
  const all = series.flat().sort((a, b) => a.at - b.at || a.index - b.index);
  let byDate = true, span = null, current = null, pressed = "All";

  const svg = figure.querySelector("svg") ?? make("svg", {class: "graph"}, figure);
  svg.classList.add("live");
  Object.assign(svg, {role: "slider", tabIndex: 0, ariaLabel: label ?? svg.ariaLabel, ariaValueMin: 1});
  const ranges = figure.parentElement.querySelector(".ranges");
  const tip = figure.parentElement.querySelector(".tip");

  const place = point => byDate ? point.at : point.index + 1;
  const whole = () => {
    const places = all.map(place);
    return [Math.min(...places), Math.max(...places)];
  };
  const visible = () => all.filter(point => place(point) >= shown[0] && place(point) <= shown[1]);
  let shown = whole();
  let x = null, y = null;
  // Phones get a drawing of their own size, in which text and distances need no scaling.
  const phone = matchMedia("(max-width: 40rem)");
  let W, H, LEFT;
  const fit = () => {
    [W, H, LEFT] = phone.matches ? [360, 250, 46] : [760, 300, 72];
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  };

  const steps = (low, high, count) => {
    const rough = Math.max((high - low) / count, 1);
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(factor => factor * size).find(each => each >= rough);
    const marks = [];
    for (let n = Math.floor(low / step); n <= Math.max(Math.ceil(high / step), Math.floor(low / step) + 2); n++) marks.push(n * step);
    return marks;
  };

  const dateMarks = () => (shown[1] - shown[0] < 9 * DAY ? [2, 6] : [1, 3, 5, 7]).map(eighth => {
    const [from, to] = shown, at = from + (to - from) * eighth / 8, date = new Date(at * 60000);
    const month = MONTHS[date.getUTCMonth()], [, time] = date.toISOString().match(/T(.{5})/);
    if (to - from >= 365 * DAY) return [at, `${month} ${date.getUTCFullYear()}`];
    return [at, `${date.getUTCDate()} ${month}${to - from < 9 * DAY ? `, ${time}` : ""}`];
  });

  const draw = () => {
    svg.replaceChildren();
    const inside = visible();
    // The line enters the view at the height of the last race before it.
    const lines = series.map(points => {
      const first = points.findIndex(point => place(point) >= shown[0]);
      const before = first > 0 ? points[first - 1] : null;
      return [before, points.filter(point => place(point) >= shown[0] && place(point) <= shown[1])];
    });
    const heights = lines.flatMap(([before, points]) => [...(before && points.length ? [before.points] : []), ...points.map(point => point.points)]);
    const grid = steps(Math.min(...heights), Math.max(...heights), 5);
    y = value => H - BOTTOM - (H - TOP - BOTTOM) * (value - grid[0]) / (grid.at(-1) - grid[0]);
    x = value => LEFT + (W - LEFT - RIGHT) * (value - shown[0]) / Math.max(shown[1] - shown[0], 1e-9);
    const vertical = make("g", {class: "axis y"}, svg);
    for (const value of grid) {
      make("path", {class: "guide", d: `M${LEFT} ${y(value)}H${W - RIGHT}`}, vertical);
      make("text", {x: LEFT - 10, y: y(value)}, vertical).textContent = number(value);
    }
    const horizontal = make("g", {class: "axis x"}, svg);
    const marks = byDate ? dateMarks() : steps(shown[0], shown[1], 5).filter(n => n >= shown[0] && n <= shown[1]).map(n => [n, `${n}`]);
    for (const [at, text] of marks) make("text", {x: x(at), y: H - 8}, horizontal).textContent = text;
    lines.forEach(([before, points], row) => {
      if (!points.length) return;
      const group = make("g", {class: "series"}, svg);
      let path = before ? `M${LEFT} ${y(before.points)}` : `M${x(place(points[0]))} ${y(points[0].points)}`;
      for (const point of points) path += `H${x(place(point)).toFixed(1)}V${y(point.points).toFixed(1)}`;
      if (series.length > 1 && byDate && points.at(-1) === series[row].at(-1)) path += `H${x(shown[1])}`;
      const left = before ? LEFT : x(place(points[0]));
      if (series.length === 1) make("path", {class: "area", d: `${path}V${H - BOTTOM}H${left}Z`}, group);
      make("path", {class: row ? "line second" : "line", d: path}, group);
      if (series.length === 1) {
        if (points.length <= MOST_DOTS) for (const point of points) make("circle", {class: "dot", cx: x(place(point)), cy: y(point.points), r: 3}, group);
        const peak = points.reduce((best, point) => point.points > best.points ? point : best);
        make("circle", {class: "peak", cx: x(place(peak)), cy: y(peak.points), r: 4.5}, group);
      }
    });
    make("g", {class: "cursor"}, svg);
    svg.setAttribute("aria-valuemax", String(Math.max(inside.length, 1)));
    select(current && inside.includes(current) ? current : inside.at(-1), false);
  };

  const words = point => [
    series.length > 1 ? point.name : null, byDate ? null : `race ${point.index + 1}`, day(point.date * 60000), point.race,
    typeof point.place === "number" ? `place ${point.place} of ${point.entrants}` : `${point.place}, ${point.entrants} racers`,
    signed(point.change), `${number(point.points)} points`,
  ].filter(Boolean);

  const select = (point, marked = true) => {
    if (!point) return;
    current = point;
    const cursor = svg.querySelector(".cursor");
    cursor.replaceChildren();
    if (marked) {
      const at = x(place(point));
      make("path", {class: "cross", d: `M${at} ${TOP}V${H - BOTTOM}`}, cursor);
      make("circle", {class: point.row ? "mark second" : "mark", cx: at, cy: y(point.points), r: 6}, cursor);
    }
    svg.setAttribute("aria-valuenow", String(visible().indexOf(point) + 1));
    svg.setAttribute("aria-valuetext", words(point).join(", "));
    const peak = series[point.row].reduce((best, each) => each.points > best.points ? each : best);
    tip.replaceChildren();
    words(point).forEach((text, index) => {
      if (index) tip.append(" · ");
      const part = document.createElement(text === point.race ? "a" : text.endsWith(" points") ? "b" : "span");
      tip.append(Object.assign(part, {textContent: text}, text === point.race && {href: `${point.page}${point.race}.html`}));
    });
    if (point === peak) tip.append(" · highest ever");
  };

  const nearest = event => {
    const matrix = svg.getScreenCTM();
    const wanted = (event.clientX - matrix.e) / matrix.a, height = (event.clientY - matrix.f) / matrix.d;
    const distance = point => Math.abs(x(place(point)) - wanted) + (series.length > 1 ? Math.abs(y(point.points) - height) / 4 : 0);
    return visible().reduce((best, point) => best && distance(best) <= distance(point) ? best : point, null);
  };

  const show = (from, to, name) => {
    const [low, high] = whole();
    const least = byDate ? DAY : 1;
    shown = [Math.max(low, Math.min(from, high - least)), Math.min(high, Math.max(to, low + least))];
    if (!visible().length) shown = [low, high];
    pressed = shown[0] === low && shown[1] === high ? "All" : name;
    press();
    draw();
  };
  const zoom = factor => {
    const [from, to] = shown;
    const center = current && place(current) >= from && place(current) <= to ? place(current) : (from + to) / 2;
    show(center - (center - from) * factor, center + (to - center) * factor, null);
  };

  const choices = [
    ["All", () => show(...whole(), "All")],
    ["6 months", () => range(MONTH * 6, "6 months")],
    ["1 month", () => range(MONTH, "1 month")],
    ["Last 50", () => last(50)],
    ["Last 20", () => last(20)],
  ];
  const range = (length, name) => {
    const end = Math.max(...all.map(point => point.at));
    if (byDate) show(end - length, end, name);
    else {
      const recent = all.filter(point => point.at >= end - length).map(point => point.index + 1);
      show(Math.min(...recent), Math.max(...all.map(place)), name);
    }
  };
  const last = count => {
    const starts = series.filter(points => points.length).map(points => place(points[Math.max(0, points.length - count)]));
    show(Math.min(...starts), whole()[1], `Last ${count}`);
  };
  const button = (text, work, title = null) => Object.assign(document.createElement("button"), {type: "button", textContent: text, ariaLabel: title, onclick: work});
  const press = () => {
    for (const each of ranges.querySelectorAll("[data-range]")) each.setAttribute("aria-pressed", String(each.dataset.range === pressed));
  };
  const days = Math.max(...all.map(point => point.at)) - all[0].at;
  const most = Math.max(...series.map(points => points.length));
  // Ranges that would show everything are there, too: the page has reserved room for all buttons.
  for (const [name, work] of choices) {
    const element = button(name, work);
    element.dataset.range = name;
    element.disabled = name === "6 months" && days < 6 * MONTH || name === "1 month" && days < MONTH
      || name.startsWith("Last") && most <= Number(name.slice(5));
    ranges.append(element);
  }
  const axis = button("By race", () => {
    byDate = !byDate;
    axis.setAttribute("aria-pressed", String(!byDate));
    (choices.find(([name]) => name === pressed) ?? choices[0])[1]();
  });
  axis.setAttribute("aria-pressed", "false");
  ranges.append(document.createElement("span"), axis, button("+", () => zoom(.5), "Zoom in"), button("−", () => zoom(2), "Zoom out"));

  // The part of the graph that the mouse drags over, from left to right.
  let from = null;
  const dragged = event => {
    const matrix = svg.getScreenCTM();
    const ends = [from, event.clientX].map(each => (each - matrix.e) / matrix.a).sort((a, b) => a - b);
    return ends[1] - ends[0] > 8 ? ends : null;
  };
  const unmark = () => svg.querySelector("rect.zoom")?.remove();
  svg.addEventListener("pointerdown", event => {
    if (event.pointerType === "mouse" && event.button === 0) {
      from = event.clientX;
      svg.setPointerCapture(event.pointerId);
    }
    select(nearest(event));
  });
  svg.addEventListener("pointermove", event => {
    select(nearest(event));
    if (from === null) return;
    unmark();
    const ends = dragged(event);
    if (ends) make("rect", {class: "zoom", x: ends[0], y: TOP, width: ends[1] - ends[0], height: H - TOP - BOTTOM}, svg);
  });
  svg.addEventListener("pointerup", event => {
    const ends = from !== null && dragged(event);
    from = null;
    const value = at => shown[0] + (at - LEFT) / (W - LEFT - RIGHT) * (shown[1] - shown[0]);
    if (ends) show(value(ends[0]), value(ends[1]), null);
  });
  // However a drag ends: by its button, by a menu, or because the browser cancels it.
  svg.addEventListener("lostpointercapture", () => {
    from = null;
    unmark();
  });
  svg.addEventListener("dblclick", () => choices[0][1]());
  svg.addEventListener("keydown", event => {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // keys of the browser, such as back and zoom
    const inside = visible(), at = inside.indexOf(current);
    const target = {ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: inside.length - 1, PageUp: at - 10, PageDown: at + 10}[event.key];
    if (target !== undefined) select(inside[Math.max(0, Math.min(inside.length - 1, target))]);
    else if (event.key === "+" || event.key === "=") zoom(.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "Escape") choices[0][1]();
    else if (event.key === "Enter" && current.race) location.href = `${current.page}${current.race}.html`;
    else return;
    event.preventDefault();
  });
  phone.addEventListener("change", () => {
    fit();
    draw();
  });
  fit();
  press();
  draw();
};
for (const figure of document.querySelectorAll("figure[data-graph]")) {
  window.racebot.graph(figure, JSON.parse(document.getElementById(figure.dataset.graph).textContent));
}
