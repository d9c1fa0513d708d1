"""The sandbox's control API: the actions that people take on the site's pages, and a few faults, as JSON.

`POST /sandbox/control/COMMAND` takes and returns a JSON object. `GET /sandbox/control` lists the commands and
the state of the site, and `GET /sandbox/control/RACE` returns one race with its whole chat.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from racebot.sandbox import render, render_lists
from racebot.sandbox.errors import SandboxError, UnknownError
from racebot.sandbox.misbehaviour import Misbehaviour
from racebot.sandbox.race_state import RacerStatus
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite
from racebot.sandbox.text import parse_length

PREFIX = "/sandbox/control"
"""No race has this address, because race slugs end in a number."""

Arguments = dict[str, Any]
Command = Callable[[Arguments], object]

_BY_RACER: dict[str, Callable[[FakeRoom, str], object]] = {
    "accept": FakeRoom.accept,
    "ready": FakeRoom.ready,
    "forfeit": FakeRoom.forfeit,
    "undone": FakeRoom.undone,
    "unforfeit": FakeRoom.unforfeit,
}
_ON_RACER: dict[str, Callable[[FakeRoom, str, str | None], None]] = {
    "disqualify": FakeRoom.disqualify,
    "undisqualify": FakeRoom.undisqualify,
}
_ON_RACE: dict[str, Callable[[FakeRoom, str | None], None]] = {
    "hold": FakeRoom.hold,
    "record": FakeRoom.record,
    "do_not_record": FakeRoom.do_not_record,
}
_OPTIONS = ("custom_goal", "invitational", "unlisted", "hide_entrants", "team_race")


class Control:
    """The commands. Each pops its arguments from the request; leftover arguments are an error."""

    def __init__(self, site: FakeSite, misbehaviour: Misbehaviour) -> None:
        self._site = site
        self._misbehaviour = misbehaviour
        self._commands: dict[str, Command] = {
            "open": self._open,
            "add_user": self._add_user,
            "rename_user": self._rename_user,
            "delete_user": self._delete_user,
            "add_bot": self._add_bot,
            "enter": self._enter,
            "count_down": lambda given: self._room(given).count_down(),
            "start": lambda given: self._room(given).start(ago=_length(given, "ago") or timedelta(0)),
            "finish": lambda given: self._room(given).finish(given.pop("user"), _length(given, "time")),
            "cancel": lambda given: self._room(given).cancel(),
            "edit_time": self._edit_time,
            "edit_result": self._edit_result,
            "say": self._say,
            "pin": lambda given: self._room(given).set_pin(given.pop("message"), pinned=True),
            "unpin": lambda given: self._room(given).set_pin(given.pop("message"), pinned=False),
            "add_monitor": lambda given: self._room(given).add_monitor(given.pop("user")),
            "set_info": self._set_info,
            "revoke_tokens": lambda given: self._site.revoke_tokens(),
            "fail_http": self._fail_http,
            "drop_sockets": self._drop_sockets,
            "stall": lambda given: self._misbehaviour.stall(float(given.pop("seconds"))),
        }
        self._commands |= {name: self._by_racer(do) for name, do in _BY_RACER.items()}
        self._commands |= {name: self._on_racer(do) for name, do in _ON_RACER.items()}
        self._commands |= {name: self._on_race(do) for name, do in _ON_RACE.items()}

    def routes(self) -> list[Route]:
        return [
            Route(PREFIX, self.state),
            Route(PREFIX + "/{race}", self.race),
            Route(PREFIX + "/{command}", self.command, methods=["POST"]),
        ]

    async def command(self, request: Request) -> Response:
        do = self._commands.get(request.path_params["command"])
        if do is None:
            return _refusal(404, f"unknown command. Commands: {', '.join(sorted(self._commands))}")
        if not request.headers.get("content-type", "").startswith("application/json"):
            # CSRF protection: a page of another site cannot send this content type.
            return _refusal(415, "the body must be application/json")
        try:
            given = await request.json()
            if not isinstance(given, dict):
                return _refusal(400, "the body must be a JSON object")
            race = given.get("race")
            answer = do(given)
        except UnknownError as error:
            return _refusal(404, str(error))
        except SandboxError as error:
            return _refusal(409, str(error))
        except KeyError as error:
            return _refusal(400, f"missing argument: {error.args[0]}")
        except (ValueError, TypeError, AttributeError) as error:
            return _refusal(400, str(error))
        if given:
            return _refusal(400, f"done, but these arguments are unknown: {', '.join(sorted(given))}")
        if answer is None and isinstance(race, str) and race:
            answer = render.race(self._site.room(race))
        return JSONResponse({"ok": True} if answer is None else answer)

    async def state(self, request: Request) -> Response:
        site = self._site
        return JSONResponse(
            {
                "commands": sorted(self._commands),
                "category": render_lists.category(site, unlisted=True),
                "races": [render.race(room) for room in site.rooms.values()],
                "users": [{"id": u.id, "name": u.name, "deleted": u.deleted} for u in site.users.values()],
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

    def _room(self, given: Arguments) -> FakeRoom:
        return self._site.room(given.pop("race"))

    def _by_racer(self, do: Callable[[FakeRoom, str], object]) -> Command:
        def command(given: Arguments) -> None:
            do(self._room(given), given.pop("user"))

        return command

    def _on_racer(self, do: Callable[[FakeRoom, str, str | None], None]) -> Command:
        return lambda given: do(self._room(given), given.pop("user"), given.pop("by", None))

    def _on_race(self, do: Callable[[FakeRoom, str | None], None]) -> Command:
        return lambda given: do(self._room(given), given.pop("by", None))

    def _open(self, given: Arguments) -> object:
        options = {name: bool(given.pop(name)) for name in _OPTIONS if name in given}
        goal, slug, by = given.pop("goal", None), given.pop("slug", None), given.pop("opened_by", None)
        return render.race(self._site.open_race(goal, slug=slug, opened_by=by, **options))

    def _add_user(self, given: Arguments) -> object:
        name, user_id = given.pop("name"), given.pop("id", None)
        user = self._site.add_user(name, id=user_id, moderator=bool(given.pop("moderator", False)))
        return render.user(user, self._site.category)

    def _rename_user(self, given: Arguments) -> None:
        self._site.rename_user(given.pop("user"), given.pop("name"))

    def _delete_user(self, given: Arguments) -> None:
        self._site.delete_user(given.pop("user"))

    def _add_bot(self, given: Arguments) -> None:
        self._site.add_bot(given.pop("name"), given.pop("client_id"), given.pop("client_secret"))

    def _enter(self, given: Arguments) -> None:
        self._room(given).enter(given.pop("user"), given.pop("team", None))

    def _edit_time(self, given: Arguments) -> None:
        time = _length(given, "time")
        if time is None:
            raise KeyError("time")
        self._room(given).edit_time(given.pop("user"), time, given.pop("by", None))

    def _edit_result(self, given: Arguments) -> None:
        status = RacerStatus(given.pop("status")) if "status" in given else None
        time = _length(given, "time")
        self._room(given).edit_result(given.pop("user"), status, time, by=given.pop("by", None))

    def _say(self, given: Arguments) -> None:
        self._room(given).say(given.pop("user"), given.pop("message"))

    def _set_info(self, given: Arguments) -> None:
        room, info, client_id = self._room(given), given.pop("info"), given.pop("client_id", None)
        room.set_info(self._site.bot if client_id is None else self._site.bot_with(client_id), info)

    def _fail_http(self, given: Arguments) -> None:
        self._misbehaviour.fail_http(
            int(given.pop("times", 1)),
            int(given.pop("status", 500)),
            retry_after=given.pop("retry_after", None),
            body=given.pop("body", None),
            path=given.pop("path", ""),
        )

    def _drop_sockets(self, given: Arguments) -> object:
        dropped = self._misbehaviour.drop_sockets(given.pop("race", None), code=given.pop("code", None))
        return {"dropped": dropped}


def _length(given: Arguments, name: str) -> timedelta | None:
    """Parse a length of time, given in seconds or in the site's duration format."""
    value = given.pop(name, None)
    if value is None:
        return None
    return parse_length(value) if isinstance(value, str) else timedelta(seconds=float(value))


def _refusal(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)
