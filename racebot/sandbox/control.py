"""The sandbox's control API: the actions that people take on the site's pages, and a few faults, as JSON.

`POST /sandbox/control/COMMAND` takes and returns a JSON object. `GET /sandbox/control` lists the commands
with their arguments, and the newest rooms and accounts. `GET /sandbox/control/RACE` returns one race with its
whole chat.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from inspect import signature
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from racebot.sandbox import render
from racebot.sandbox.misbehaviour import Misbehaviour
from racebot.sandbox.race_state import RacerStatus, SandboxError, UnknownError
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import CLIENT_ID, FakeSite
from racebot.sandbox.text import parse_length

PREFIX = "/sandbox/control"
"""No race has this address, because race slugs end in a number."""

_ROOM_COMMANDS = {name for name in vars(FakeRoom) if not name.startswith("_")} | {"say", "add_monitor"}
_ROOM_COMMANDS -= {"entrant", "set_places"}
"""Commands about one race. Their arguments are those of the methods, and `race`."""
_SOURCES: dict[str, Callable[..., object]] = {
    "open": FakeSite.open_race,
    "add_user": FakeSite.add_user,
    "drop_sockets": Misbehaviour.drop_sockets,
}
"""Methods that have the arguments of other commands."""
SHOWN = 30
"""Most rooms and most accounts that the list of commands shows."""


class Control:
    """The commands, as functions of the request's arguments."""

    def __init__(self, site: FakeSite, misbehaviour: Misbehaviour) -> None:
        self._site = site
        self._misbehaviour = misbehaviour
        self._commands: dict[str, Callable[..., object]] = {
            "open": lambda **options: render.race(site.open_race(**options)),
            "add_user": lambda **about: render.user(site.add_user(**about), site.category),
            "rename_user": site.rename_user,
            "delete_user": site.delete_user,
            "rename_goal": site.rename_goal,
            "add_bot": self._add_bot,
            "pin": lambda race, message: site.room(race).set_pin(message, pinned=True),
            "unpin": lambda race, message: site.room(race).set_pin(message, pinned=False),
            "set_info": self._set_info,
            "revoke_tokens": site.revoke_tokens,
            "fail_http": misbehaviour.fail_http,
            "drop_sockets": lambda **which: {"dropped": misbehaviour.drop_sockets(**which)},
            "stall": misbehaviour.stall,
        }
        self._commands |= {name: partial(self._in_room, name) for name in _ROOM_COMMANDS}

    def routes(self) -> list[Route]:
        return [
            Route(PREFIX, self.state),
            Route(PREFIX + "/{race}", self.race),
            Route(PREFIX + "/{command}", self.command, methods=["POST"]),
        ]

    async def command(self, request: Request) -> Response:
        name = request.path_params["command"]
        do = self._commands.get(name)
        if do is None:
            return _refusal(404, f"unknown command. Commands: {', '.join(sorted(self._commands))}")
        if not request.headers.get("content-type", "").startswith("application/json"):
            # CSRF protection: a page of another site cannot send this content type.
            return _refusal(415, "the body must be application/json")
        try:
            given = await request.json()
            if not isinstance(given, dict):
                return _refusal(400, "the body must be a JSON object")
            if (problem := self._problem(name, given)) is not None:
                return _refusal(400, problem)
            answer = do(**given)
        except UnknownError as error:
            return _refusal(404, str(error))
        except SandboxError as error:
            return _refusal(409, str(error))
        except ValueError as error:
            return _refusal(400, str(error))
        except (TypeError, AttributeError):
            return _refusal(400, f"an argument is not of the right kind: {self._usage(name)}")
        return JSONResponse({"ok": True} if answer is None else answer)

    async def state(self, request: Request) -> Response:
        site = self._site
        newest = sorted(site.rooms.values(), key=lambda room: room.opened_at)[-SHOWN:]
        return JSONResponse(
            {
                "commands": [self._usage(name) for name in sorted(self._commands)],
                "category": site.category.slug,
                "goals": site.category.goals,
                "races": [{"name": each.name, "status": each.status} for each in newest],
                "users": [{"id": each.id, "name": each.name} for each in [*site.users.values()][-SHOWN:]],
                "open_sockets": self._misbehaviour.open_sockets,
            }
        )

    async def race(self, request: Request) -> Response:
        try:
            room = self._site.room(request.path_params["race"])
        except UnknownError as error:
            return _refusal(404, str(error))
        return JSONResponse(
            {
                "race": render.race(room),
                "held": room.held,
                "refused": room.refused,
                "chat": [render.message(room, message) for message in room.chat],
                "notes": [render.note(message) for message in room.notes],
            }
        )

    def _arguments(self, command: str) -> dict[str, bool]:
        """Return a command's arguments, and whether each is needed."""
        source = getattr(FakeRoom, command) if command in _ROOM_COMMANDS else _SOURCES.get(command)
        found = signature(source or self._commands[command]).parameters.values()
        race = {"race": True} if command in _ROOM_COMMANDS else {}
        return race | {each.name: each.default is each.empty for each in found if each.name != "self"}

    def _usage(self, command: str) -> str:
        """Return a command's name and its arguments, those that may be left out in brackets."""
        arguments = self._arguments(command).items()
        return " ".join([command, *(name if needed else f"[{name}]" for name, needed in arguments)])

    def _problem(self, command: str, given: dict[str, Any]) -> str | None:
        known = self._arguments(command)
        for name in given:
            if name not in known:
                return f"'{name}' is no argument: {self._usage(command)}"
        for name, needed in known.items():
            if needed and name not in given:
                return f"'{name}' is missing: {self._usage(command)}"
        return None

    def _in_room(self, command: str, *, race: str, **given: Any) -> object:
        room = self._site.room(race)
        for name, read in _ARGUMENTS.items():
            if name in given:
                given[name] = read(given[name])
        getattr(room, command)(**given)
        return render.race(room)

    def _add_bot(self, name: str, client_id: str, client_secret: str) -> None:
        self._site.add_bot(name, client_id, client_secret)

    def _set_info(self, race: str, info: str, client_id: str = CLIENT_ID) -> object:
        room, bot = self._site.room(race), self._site.bots.get(client_id)
        if bot is None:
            raise UnknownError(f"no bot with the client id {client_id!r}")
        room.set_info(bot, info)
        return render.race(room)


def _length(value: str | float) -> timedelta:
    """Parse a length of time, given in seconds or in the site's duration format."""
    return parse_length(value) if isinstance(value, str) else timedelta(seconds=value)


_ARGUMENTS: dict[str, Callable[[Any], object]] = {"ago": _length, "time": _length, "status": RacerStatus}
"""How to read the arguments of room commands that are not plain JSON."""


def _refusal(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)
