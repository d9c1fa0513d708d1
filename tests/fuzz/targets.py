"""Fuzz targets: every parser of outside data.

A target takes bytes and returns if the rule holds: whatever it is given, the code either copes or raises
one of racebot's own errors, in one line of a sensible length. Anything else escapes and is a find.
"""

import asyncio
import contextlib
import copy
import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import builders
import httpx
from archives import archive
from builders import CATEGORY, GOAL, NOON, Streamed
from fuzz.mutation import Bytes, bent, damaged, written
from pydantic import SecretStr

from racebot.bot.room.answers import CommandHandler
from racebot.bot.room.case import step
from racebot.bot.room.events import Frame, Listed, Moment
from racebot.bot.room.ledger_work import LedgerWork
from racebot.chat import info_box
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.errors import LONGEST_LINE, RacebotError
from racebot.files.read import read_races
from racebot.ledger.outbox import ChatBody, InfoBody, Message, MetaBody
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.race import race_report
from racebot.queries.standings import Listing
from racebot.races.outcome import TeamPolicy
from racebot.racetime import client, frames, payload
from racebot.settings import model as settings, sources
from racebot.settings.commands import Command
from racebot.standings.counting import LeaderboardConfig, RatingRules, rating_rules
from racebot.standings.settle import Settler
from racebot.text import safe
from racebot.text.format import to_json
from racebot.text.parse import parse_duration, parse_time, read_json

ISOLATES = dict.fromkeys(map(ord, "\u2068\u2069"))
"""Translation that removes the isolates around right-to-left names."""
ADDED = ISOLATES | {ord("\N{WORD JOINER}"): None}
"""Translation that also removes the joiners that hold entries together."""
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of invisible characters: control, format, private, unassigned, surrogate, break."""
SECRET = "hush-hush-1234"

ENTRANTS = [
    builders.entrant_document("ann", "done", "P0DT01H00M03.047053S", 1),
    builders.entrant_document("bo", "done", "P0DT01H00M03.890791S", 2, team={"name": "Red", "slug": "red"}),
    builders.entrant_document("cy", "dnf"),
    builders.entrant_document(None, "dq", "PT1H"),
]
RACE = builders.race_document("r", ENTRANTS, info_bot="Seed: x", bot_meta={"seed": 5}, recorded=True)
LISTED = [builders.listed_document("a", ENTRANTS), builders.listed_document("b", ENTRANTS[:2], recorded=True)]
PAGE = {"count": 2, "num_pages": 1, "races": LISTED}
OPEN = {key: RACE[key] for key in ("name", "goal", "url")} | {"status": {"value": "open"}}
CATEGORY_PAGE = {"slug": CATEGORY, "name": "Orb Hunt", "goals": [GOAL, "All Orbs"], "current_races": [OPEN]}
CHAT: dict[str, Any] = {
    **dict.fromkeys(("message", "message_plain"), "!rating bo"),
    **dict.fromkeys(("highlight", "is_dm", "is_bot", "is_system", "is_pinned"), False),
    "id": "mzAPKWnLJb4N67dv",
    "user": builders.user_document("ann"),
    "bot": None,
    "posted_at": "2026-03-01T12:00:00.100Z",
    "delay": 0,
    "actions": {},
}
FRAMES: list[dict[str, Any]] = [
    {"type": "race.data", "race": RACE, "date": "2026-03-01T12:00:00.100Z"},
    {"type": "race.data", "race": builders.race_document("r", ENTRANTS, version=22)},
    {"type": "race.data", "race": builders.race_document("r", ENTRANTS[:1], "open")},
    {"type": "chat.message", "message": CHAT},
    {"type": "chat.history", "messages": [CHAT, CHAT]},
    {"type": "error", "errors": ["Permission denied. Check your authorization token."]},
    {"type": "race.renders", "renders": {}},
    {"type": "pong"},
]
SAID = (
    b"@everyone",
    b"####:////",
    b"https://evil.example/@here ##bad## \x1b[0m",
    "@\u202e@#\u200b#:\u200b//".encode(),
)
COMMAND_LINES = [f"!{command}" for command in Command]
TOKEN = {"access_token": "token-of-the-bot-1", "expires_in": 36_000, "token_type": "Bearer"}
TOML = b"""\
model = "thurstone-hurdle"
parameters = { level = 1.5 }
[[categories]]
slug = "orb"
client_id = "orb-bot"
client_secret = "hush-hush-1234"
goals = ["Any Orb"]
[[leaderboards]]
name = "All"
category = "orb"
goals = ["Any Orb", "All Orbs"]
carry_over = { from = "Old", factor = 0.9, most_races = 10 }
[texts]
provisional = "Once more ({goal}): "
"""
ENV = b"""\
RACEBOT_CATEGORY=orb
RACEBOT_CLIENT_ID="orb-bot"
export RACEBOT_CLIENT_SECRET='hush-hush-1234'
RACEBOT_GOALS=Any Orb; All Orbs  # two
RACEBOT_PARAMETERS=level=1.5
OTHER=${HOME}/x
"""
WORDS = (
    *("true", "orb", "-1", "0", "nan", "inf", "1e999", "99999999999999999999", "trueskill"),
    *("http://racetime.gg", "https://[::::]", "https://a:99999", "https://a:b@racetime.gg", "https://.."),
    *("9" * 5_000, "[" * 5_000, '{"level": ' + "[" * 5_000, "/" + "a" * 5_000, '{"level": NaN}', '["a"]'),
    *("level=nan", "level=1e999", "a=1; b=2", "\x1b]0;x\x07", "\udcff"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """One parser. `seeds` are inputs to start from; `examples` is how many the everyday tests try."""

    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...] = (b"",)
    examples: int = 150


@contextlib.contextmanager
def only_own_errors(secret: str = SECRET) -> Iterator[None]:
    """Allow racebot's own errors if each is one printable line without the secret."""
    try:
        yield
    except RacebotError as error:
        for line in error.problems:
            assert line.strip() and line.isprintable(), repr(line)
            assert len(line) <= LONGEST_LINE, line
            assert secret not in line, line


def raw_or_bent(source: Bytes, shape: Any) -> bytes:
    """Return JSON as the program may receive it: raw bytes, or a nearly valid document."""
    return source.rest() if source.number(8) == 0 else written(bent(shape, source), source)


def document(source: Bytes, *shapes: Any) -> Any:
    return read_json(raw_or_bent(source, source.one_of(shapes)))


# Parsers


def frame(data: bytes) -> None:
    with only_own_errors():
        frames.parse_event(document(Bytes(data), *FRAMES))


def race(data: bytes) -> None:
    with only_own_errors():
        found = payload.parse_race(document(Bytes(data), RACE, builders.listed_document("a", ENTRANTS)))
        if found.result is not None:
            assert type(found.result).from_json(found.result.to_json()) == found.result


def pages(data: bytes) -> None:
    """Parse a page of races and a category."""
    for parse, shape in ((payload.parse_race_page, PAGE), (payload.parse_category, CATEGORY_PAGE)):
        with only_own_errors():
            parse(document(Bytes(data), shape))


def words(data: bytes) -> None:
    """Parse durations and timestamps from arbitrary text."""
    text = Bytes(data).text() if data[:1] < b"\x80" else data[1:].decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        assert parse_duration(text) >= 0
    with contextlib.suppress(ValueError):
        moment = parse_time(text)
        assert moment.utcoffset() is not None
        assert 1970 <= moment.year < 3000


def answer(data: bytes) -> None:
    """Answer each kind of request with an arbitrary status, headers and body."""
    source = Bytes(data)
    status = source.one_of((200, 200, 200, 200, 301, 302, 400, 401, 403, 404, 429, 500, 503, 204, 599))
    headers = [(b"Content-Type", source.one_of((b"application/json", b"text/html; charset=utf-16", b"\xff")))]
    if source.number(4) == 1:
        names = (b"Content-Encoding", b"Location", b"Set-Cookie", b"Content-Length")
        headers.append((source.one_of(names), source.take(source.number(12))))
    pause = source.one_of((b"Sun, 06 Nov 1994 08:49:37 GMT", b"120", b"Mon, 01 Jan 9999 00:00:00 -0000", b""))
    headers.append((b"Retry-After", damaged(pause, source)))
    wanted = source.number(4)
    shape = (TOKEN, CATEGORY_PAGE, RACE, PAGE)[wanted]
    body = raw_or_bent(source, shape)

    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))

    async def ask() -> None:
        transport = Streamed(reply)
        async with client.Site("https://orbs.example", interval=0, attempts=1, transport=transport) as site:
            if wanted == 0:
                token, seconds = await site.token("orb-bot", SecretStr(SECRET))
                assert token.isascii() and token.isprintable() and 0 < seconds <= 2**63
            elif wanted == 1:
                await site.category(CATEGORY, "token-1")
            elif wanted == 2:
                await site.race(f"{CATEGORY}/r")
            else:
                await site.past_races(CATEGORY, 1)

    with only_own_errors():
        asyncio.run(ask())


def race_file(data: bytes) -> None:
    """Read a file for `racebot import`, `evaluate` or `tune`."""
    source = Bytes(data)
    path = _folder() / "races.json"
    path.write_bytes(raw_or_bent(source, source.one_of((archive(3), PAGE, [PAGE, PAGE], RACE, [RACE]))))
    with only_own_errors():
        for result in read_races(path, category=CATEGORY, goal=None).results:
            result.to_json().encode()


# What comes after the parsers


def life(data: bytes) -> None:
    """Follow a room's frames all the way: preview, settle, word, look up."""
    source = Bytes(data)
    model = source.one_of(("thurstone-hurdle", "plackett-luce", "trueskill"))
    config, ledger = LeaderboardConfig(model, {}, source.one_of([*TeamPolicy])), _ledger()
    with contextlib.suppress(_RollBack), ledger.transaction():
        work = LedgerWork(
            Settler(ledger, RatingRules(config)), lambda: NOON, settings.Settings(quiet_seconds=0), "id"
        )
        case = work.load(f"{CATEGORY}/r", watched=True)
        for now in range(1 + source.number(4)):
            with only_own_errors():
                found = payload.parse_race(document(source, *(f["race"] for f in FRAMES[:3])))
                stored = ledger.cases.get(case.name)
                case, effects = step(case, Frame(found), Moment(now, NOON))
                work.carry_out(case, stored, effects)
                polled = work.load(found.name, watched=False)
                stored = polled.row
                polled, effects = step(polled, Listed(found), Moment(now, NOON))
                work.carry_out(polled, stored, effects)
                for row in ledger.messages.of(found.name):
                    _fits(row.message, found)
                if ledger.races.get(found.name) is not None:
                    race_report(ledger, found.name)
                for board in ledger.leaderboards.all():
                    list(leaderboard_report(ledger, board, Listing(1, 36_500)).players)
        raise _RollBack


def chat(data: bytes) -> None:
    """Answer arbitrary chat lines."""
    source = Bytes(data)
    message, ledger = copy.deepcopy(CHAT), _ledger()
    line = source.one_of([*COMMAND_LINES * 4, "", "!", "! rating", "!RATING\u2003"])
    message["message"] = line + source.one_of((" ", "", "\n", "\0", "\u00a0@")) + source.text()
    message["user"] |= {"name": source.text(), "can_moderate": bool(source.number(2))}
    with contextlib.suppress(_RollBack), ledger.transaction():
        settler = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle", {}, TeamPolicy.IGNORE)))
        defaults = settings.Settings()
        talk = CommandHandler(LedgerWork(settler, lambda: NOON, defaults, "id"), defaults, clock=lambda: 0.0)
        with only_own_errors():
            found = payload.parse_race(document(source, {**RACE, "recorded": False}))
            raw = written({"type": "chat.message", "message": message}, Bytes(b""))
            heard = frames.parse_event(read_json(raw))
            assert isinstance(heard, frames.ChatMessage)
            asked = talk.parse(heard, found)
            if asked is not None:
                text = talk.orders.carry_out(asked.order, found) if asked.order else talk.reply(asked, found)
                assert len(text) <= MESSAGE_LIMIT
                assert not {unicodedata.category(char) for char in text.translate(ADDED)} & HIDDEN
                assert "@" not in text and "://" not in text
        raise _RollBack


def shown(data: bytes) -> None:
    """Show arbitrary names in chat and terminals: one line, no mention, no link, nothing hidden."""
    text = Bytes(data).text() if data[:1] < b"\x40" else data[1:].decode("utf-8", "surrogateescape")
    for harmless in (safe.plain(text).translate(ISOLATES), safe.printable(text)):
        harmless.encode()
        assert not {unicodedata.category(char) for char in harmless} & HIDDEN
        assert harmless.splitlines() in ([], [harmless])
    said = safe.plain(text)
    assert said.strip()
    assert "@" not in unicodedata.normalize("NFC", said)
    assert "://" not in said
    assert "##" not in said
    assert not re.search(r"\.[^\W\d_]{2}", safe.without_domains(safe.plain(text)))
    assert safe.plain(said) == said


# Settings


def configuration(data: bytes) -> None:
    """Load settings from a damaged environment, `.env` or `racebot.toml`."""
    source = Bytes(data)
    folder = _folder()
    environment = {}
    for _ in range(source.number(4)):
        name = source.one_of(sorted(settings.Settings.model_fields)).upper()
        value = source.one_of(WORDS) if source.number(4) else source.text()
        raw = value.replace("\0", "").encode("utf-8", "surrogatepass")
        environment[settings.PREFIX + name] = os.fsdecode(raw)
    spoilt = [_spoil(folder / ".env", ENV, source), _spoil(folder / "racebot.toml", TOML, source)]
    # In two joined lines, the secret can't be told from its neighbors.
    secret = "\0" if any(spoilt) else SECRET
    with patch.dict(os.environ, environment, clear=True), only_own_errors(secret):
        found = sources.load(folder)
        rating_rules(found)
        assert secret not in f"{found!r} {found} {found.model_dump()} {found.model_dump_json()}"
        found.required_categories()
        client.Site(found.site)


def _spoil(path: Path, content: bytes, source: Bytes) -> bool:
    """Write the file, perhaps damaged, or remove it. Return whether it is damaged."""
    kind = source.number(4)
    if kind == 0:
        path.unlink(missing_ok=True)
        return False
    if kind == 1:
        at = source.number(len(content) + 1)
        word = os.fsencode(source.one_of((*WORDS, "\0", "\n")))
        content = damaged(content[:at] + word + content[at + source.number(12) :], source)
    elif kind == 2:
        content = source.take(source.number(256))
    path.write_bytes(content)
    return kind != 3


# Helpers


class _RollBack(Exception):  # noqa: N818 - not an error
    """Rolls a transaction back."""


def _fits(message: Message, found: payload.Race) -> None:
    """Check that a message keeps the site's limits and can be sent."""
    match message.body:
        case ChatBody(text):
            assert 1 <= len(text) <= MESSAGE_LIMIT
            assert "@" not in text
        case InfoBody(blocks):
            info_box.merged_info(found.info_bot, blocks)
        case MetaBody(leaderboards):
            json.dumps(info_box.meta(found.bot_meta, leaderboards))
    to_json(message.body).encode()


@cache
def _holder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of this process, in memory if possible."""
    memory = Path("/dev/shm")  # noqa: S108 - made by tempfile below
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, ignore_cleanup_errors=True)


def _folder() -> Path:
    return Path(_holder().name)


@cache
def _ledger() -> Ledger:
    ledger = Ledger.open(_folder() / "ledger.db")
    path = _folder() / "season.json"
    path.write_text(json.dumps(archive(30)), encoding="utf-8")
    results = read_races(path, category=CATEGORY, goal=GOAL).results
    settler = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle", {}, TeamPolicy.IGNORE)))
    settler.add_past_races(results, "import")
    return ledger


def close() -> None:
    """Release the targets' resources; they are created again on next use."""
    if _ledger.cache_info().currsize:
        _ledger().close()
    _holder().cleanup()
    for made in (_holder, _ledger):
        made.cache_clear()


TARGETS = {
    "frame": Target(frame, tuple(b"\0" + json.dumps(each).encode() for each in FRAMES), 400),
    "race": Target(race, (b"\0" + json.dumps(RACE).encode(),), 400),
    "pages": Target(pages, (b"\0" + json.dumps(PAGE).encode(), b"\0" + json.dumps(CATEGORY_PAGE).encode())),
    "words": Target(words, (b"\x80P0DT01H00M03.047053S", b"\x802026-03-01T12:00:00.5Z"), 300),
    "answer": Target(answer, examples=300),
    "race-file": Target(
        race_file, (b"\0" + json.dumps(archive(3)).encode(), b"\0" + json.dumps(PAGE).encode())
    ),
    "life": Target(life),
    "chat": Target(chat),
    "shown": Target(shown, tuple(b"\x40" + each for each in SAID), 800),
    "configuration": Target(configuration),
}
