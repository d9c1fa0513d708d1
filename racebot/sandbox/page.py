"""The sandbox's own pages: a race room and the list of rooms."""

from __future__ import annotations

import re
from html import escape

from racebot.sandbox.race_state import ChatLine, FakeEntrant
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite
from racebot.sandbox.text import ordinal, timer
from racebot.text.format import exact_time

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 15px/1.4 system-ui, sans-serif; margin: 1rem auto; max-width: 72rem; padding: 0 1rem; }
main { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start; }
section { flex: 1 1 20rem; }
section.chat { flex: 0 1 auto; width: 45ch; max-width: 100%; font-size: 14px; }
table { width: 100%; }
.info { white-space: pre-line; overflow-wrap: anywhere; background: var(--soft); padding: .5rem; }
.log { max-height: 70vh; overflow-y: auto; }
.pinned { border-bottom: 2px solid var(--line); }
.log p, .pinned p { margin: .3rem 0; overflow-wrap: anywhere; }
.system { font-style: italic; opacity: .75; } .bot { background: var(--soft); padding: .2rem .4rem; }
.buttons { display: flex; flex-wrap: wrap; gap: .3rem; margin-top: .2rem; }
.note { border-left: 3px solid var(--line); padding-left: .4rem; }
form { display: flex; gap: .3rem; } input { flex: 1; min-width: 0; }
"""

_SCRIPT = """
const live = document.querySelector("main");
const down = () => document.querySelectorAll(".log").forEach(log => log.scrollTop = log.scrollHeight);
async function refresh() {
  const text = await (await fetch(location.href)).text();
  const next = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  if (next && next.innerHTML !== live.innerHTML) { live.innerHTML = next.innerHTML; down(); }
}
async function send(command, given) {
  const answer = await fetch(`/sandbox/control/${command}`, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(given),
  });
  if (!answer.ok) alert((await answer.json()).error);
  refresh();
}
const form = document.querySelector("form");
const say = text => send("say", {race: form.dataset.race, user: form.user.value, text});
document.addEventListener("click", event => {
  const told = event.target.dataset || {};
  if (told.say) say(told.say);
  if (told.open) send("open", {});
  if (told.race) send(told.race, {race: form.dataset.race});
  if (told.user) send(told.user, {race: form.dataset.race, user: form.user.value});
});
document.addEventListener("submit", event => {
  event.preventDefault();
  say(event.target.text.value);
  event.target.text.value = "";
});
down();
setInterval(() => refresh().catch(() => {}), 2000);
"""

_BUTTONS = "".join(
    f'<p class="buttons">{text} '
    + " ".join(
        f'<button type="button" data-{whose}="{command}">{command.replace("_", " ").capitalize()}</button>'
        for command in commands
    )
    + "</p>"
    for text, whose, commands in (
        ("The chosen user:", "user", ("enter", "ready", "finish", "forfeit", "disqualify")),
        ("The room:", "race", ("count_down", "start", "record", "cancel")),
    )
)
_LINK = re.compile(r"https?://[^\s<>&\"']+(?:&amp;[^\s<>&\"']+)*")


def index(site: FakeSite) -> str:
    """Return the page that lists the rooms, newest first."""
    rows = "".join(
        f'<tr><td><a href="/{escape(room.name)}">{escape(room.slug)}</a></td><td>{escape(room.goal)}</td>'
        f"<td>{_state(room)}</td><td>{len(room.counted)} entrants</td></tr>"
        for room in sorted(site.rooms.values(), key=lambda room: room.opened_at, reverse=True)[:200]
    )
    button = '<p><button type="button" data-open="1">Open a room</button></p>'
    return _document(site.category.name, f"{button}<main><section><table>{rows}</table></section></main>")


def room_page(site: FakeSite, room: FakeRoom) -> str:
    """Return the page of one room: entrants and info on one side, chat on the other."""
    entrants = sorted(room.entrants, key=lambda e: (e.place or 999, e.number))
    rows = "".join(_entrant_row(room, entrant) for entrant in entrants)
    info = f'<p class="info">{_linked(room.info)}</p>' if room.info else ""
    lines = sorted([*room.chat, *room.notes], key=lambda message: message.posted_at)
    pinned = "".join(_chat_line(room, line) for line in room.chat if line.pinned)
    log = "".join(_chat_line(room, line) for line in lines[-100:] if not line.pinned)
    options = "".join(
        f'<option value="{escape(user.id)}">{escape(user.name)}</option>'
        for user in site.users.values()
        if not user.deleted and (not room.started or any(e.user is user for e in room.entrants))
    )
    closed = "" if room.chat_open else "<p>Chat is closed.</p>"
    body = (
        f"<main><section><h2>{escape(room.goal)} · {_state(room)}</h2>{info}<table>{rows}</table></section>"
        f'<section class="chat"><h2>Chat</h2><div class="pinned">{pinned}</div>'
        f'<div class="log">{log}</div>{closed}</section></main>'
        f'<form data-race="{escape(room.slug)}">'
        f'<select name="user" aria-label="User">{options}</select>'
        '<input name="text" maxlength="1000" placeholder="Say something" aria-label="Message">'
        f"<button>Send</button></form>{_BUTTONS}"
    )
    return _document(room.name, body)


def _document(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{body}<script>{_SCRIPT}</script></body></html>\n"
    )


def _state(room: FakeRoom) -> str:
    state = str(room.status).replace("_", " ")
    if room.recorded:
        return f"{state}, recorded"
    return state if room.recordable else f"{state}, not recorded"


def _entrant_row(room: FakeRoom, entrant: FakeEntrant) -> str:
    name = entrant.alias if room.hide_entrants else entrant.user.name
    if entrant.user.deleted:
        name = "(deleted account)"
    time = "" if entrant.finish_time is None else timer(entrant.finish_time)
    place = ordinal(entrant.place) or str(entrant.status).replace("_", " ").upper()
    change = "" if entrant.score_change is None else f"{entrant.score_change:+d}"
    return f"<tr><td>{place}</td><td>{escape(name)}</td><td>{time}</td><td>{change}</td></tr>"


def _chat_line(room: FakeRoom, line: ChatLine) -> str:
    hour = exact_time(line.posted_at)[11:16]
    text = _linked(line.plain)
    if line.is_system:
        return f'<p class="system"><time>{hour}</time> {text}</p>'
    if line.bot is not None:
        to = "" if line.direct_to is None else f" → {escape(line.direct_to.name)} alone"
        kind = "bot" if line.direct_to is None else "bot note"
        buttons = "".join(_button(str(label), action) for label, action in line.actions.items())
        row = f'<span class="buttons">{buttons}</span>' if buttons else ""
        return f'<p class="{kind}"><time>{hour}</time> <b>{escape(line.bot.name)}{to}</b>: {text}{row}</p>'
    author = "" if line.user is None else line.user.name
    hidden = [entrant.alias for entrant in room.entrants if entrant.user is line.user and room.hide_entrants]
    return f"<p><time>{hour}</time> <b>{escape(hidden[0] if hidden else author)}</b>: {text}</p>"


def _button(label: str, action: dict[str, object]) -> str:
    help_text = escape(str(action.get("help_text", "")))
    url = str(action.get("url", ""))
    if url.startswith(("https://", "http://")):
        return f'<a href="{escape(url)}" title="{help_text}">{escape(label)}</a> '
    message = escape(str(action.get("message", "")))
    return f'<button type="button" title="{help_text}" data-say="{message}">{escape(label)}</button> '


def _linked(text: str) -> str:
    return _LINK.sub(lambda match: f'<a href="{match[0]}">{match[0]}</a>', escape(text))
