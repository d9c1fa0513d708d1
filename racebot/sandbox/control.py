"""The sandbox's control API: the actions that people take on the site's pages, and a few faults, as JSON.

`POST /sandbox/control/COMMAND` takes and returns a JSON object. `GET /sandbox/control` lists the commands
with their arguments, and the newest rooms and accounts. `GET /sandbox/control/RACE` returns one race with its
whole chat.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from pydantic import ValidationError, validate_call
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from racebot.sandbox import render
from racebot.sandbox.misbehaviour import Misbehaviour
from racebot.sandbox.race_state import SandboxError, UnknownError, User
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite

PREFIX = "/sandbox/control"
"""No race has this address, because race slugs end in a number."""
SHOWN = 30
"""Most rooms and most accounts that the list of commands shows."""

_ROOM_COMMANDS = {name for name in vars(FakeRoom) if not name.startswith("_")} | {"say"}
_ROOM_COMMANDS -= {"entrant", "set_places"}
"""Commands about one race. Their arguments are those of the methods, and `race`."""


class Control:
    """The commands, as functions of the request's arguments."""

    def __init__(self, site: FakeSite, misbehaviour: Misbehaviour) -> None:
        self._site = site
        self._misbehaviour = misbehaviour
        self._commands: dict[str, Callable[..., object]] = {
            "open": site.open_race,
            "add_user": site.add_user,
            "rename_user": site.rename_user,
            "delete_user": site.delete_user,
            "rename_goal": site.rename_goal,
            "revoke_tokens": site.revoke_tokens,
            "fail_http": misbehaviour.fail_http,
            "drop_sockets": misbehaviour.drop_sockets,
            "stall": misbehaviour.stall,
        }

    def routes(self) -> list[Route]:
        return [
            Route(PREFIX, self.state),
            Route(PREFIX + "/{race}", self.race),
            Route(PREFIX + "/{command}", self.command, methods=["POST"]),
        ]

    async def command(self, request: Request) -> Response:
        name = request.path_params["command"]
        if name not in self._names():
            return _refusal(404, f"unknown command. Commands: {', '.join(self._names())}")
        if not request.headers.get("content-type", "").startswith("application/json"):
            # CSRF protection: a page of another site cannot send this content type.
            return _refusal(415, "the body must be application/json")
        try:
            given = await request.json()
            if not isinstance(given, dict):
                return _refusal(400, "the body must be a JSON object")
            return JSONResponse(self._carry_out(name, given))
        except SandboxError as error:
            return _refusal(404 if isinstance(error, UnknownError) else 409, str(error))
        except ValidationError:
            return _refusal(400, f"an argument is missing, unknown or of the wrong kind: {self._usage(name)}")
        except ValueError:
            return _refusal(400, "the body is not JSON")

    async def state(self, request: Request) -> Response:
        site = self._site
        newest = sorted(site.rooms.values(), key=lambda room: room.opened_at)[-SHOWN:]
        return JSONResponse(
            {
                "commands": [self._usage(name) for name in self._names()],
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
        notes = [(render.message(room, note), note.direct_to) for note in room.notes]
        return JSONResponse(
            {
                "race": render.race(room),
                "refused": room.refused,
                "chat": [render.message(room, message) for message in room.chat],
                "notes": [{**note, "to": to.name if to else None} for note, to in notes],
            }
        )

    def _names(self) -> list[str]:
        return sorted(_ROOM_COMMANDS | self._commands.keys())

    def _usage(self, name: str) -> str:
        """Return a command's name and its arguments, those that may be left out in brackets."""
        about_room = name in _ROOM_COMMANDS
        parameters = signature(getattr(FakeRoom, name) if about_room else self._commands[name]).parameters
        listed = [_argument(each) for each in parameters.values()]
        return " ".join([name, *(["race", *listed[1:]] if about_room else listed)])

    def _carry_out(self, name: str, given: dict[str, Any]) -> object:
        room = self._site.room(str(given.pop("race", ""))) if name in _ROOM_COMMANDS else None
        answer = validate_call(getattr(room, name) if room else self._commands[name])(**given)
        match room or answer:
            case FakeRoom() as shown:
                return render.race(shown)
            case User() as user:
                return render.user(user, self._site.category)
            case int() as dropped:
                return {"dropped": dropped}
        return {"ok": True}


def _argument(of: Parameter) -> str:
    """Return an argument's name, in brackets if it may be left out, with its default if that is a bool."""
    shown = f"{of.name}={str(of.default).lower()}" if isinstance(of.default, bool) else of.name
    return shown if of.default is Parameter.empty else f"[{shown}]"


def _refusal(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)
