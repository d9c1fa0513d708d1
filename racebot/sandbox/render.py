"""Render users, entrants, races, lists, messages and frames as the site's JSON.

Keys and types match the site. Every call returns new objects. Profiles and pictures are invented: most
accounts have an avatar, many have pronouns, some stream on Twitch.
"""

import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps

from racebot.sandbox.race_state import ChatLine, FakeCategory, FakeEntrant, RaceState, User, duration, stamp
from racebot.text.format import exact_time, ordinal
from racebot.text.parse import slug_of

Json = dict[str, Any]

_RANK = {"done": 0, "dnf": 2, "dq": 3}  # sort order of entrants by status, 1 for the others
SIZE = 128  # width and height of a picture, in pixels
_PRONOUNS = (None, "she/her", "he/him", "they/them", None, "she/they", "any/all")


def user(account: User | None, category: FakeCategory) -> Json | None:
    """Return an account as JSON, or None if it is missing or deleted."""
    if account is None or account.deleted:
        return None
    moderates = category.may_moderate(account)
    number = zlib.crc32(account.id.encode())
    twitch_name = f"racer_{number % 10_000:04d}" if number % 3 else None
    return {
        "id": account.id,
        "full_name": account.full_name,
        "name": account.name,
        "discriminator": account.discriminator,
        "url": f"/user/{account.id}/{slug_of(account.name)}".rstrip("/"),
        "avatar": f"/media/{number:08x}.png" if number % 5 else None,
        "pronouns": _PRONOUNS[number // 7 % len(_PRONOUNS)],
        "flair": "moderator" if moderates else "",
        "twitch_name": twitch_name,
        "twitch_display_name": twitch_name,
        "twitch_channel": twitch_name and f"https://www.twitch.tv/{twitch_name}",
        "can_moderate": moderates,
    }


def invented_user(name: str) -> Json:
    """Return a placeholder user for an entrant of a race that hides its entrants."""
    return {**(user(User("", name), FakeCategory("")) or {}), "url": None}


def _status(value: str) -> Json:
    return {"value": str(value), "verbose_value": value.replace("_", " ").capitalize(), "help_text": ""}


def entrant(room: RaceState, one: FakeEntrant) -> Json:
    return {
        "user": invented_user(one.alias) if room.hide_entrants else user(one.user, room.category),
        "team": one.team and {"name": one.team.name, "slug": one.team.slug, "formal": False},
        "status": _status(one.status),
        "finish_time": duration(one.finish_time),
        "finished_at": stamp(one.finished_at),
        "place": one.place,
        "place_ordinal": one.place and ordinal(one.place),
        **dict.fromkeys(("score", "score_change", "comment")),
        **dict.fromkeys(("has_comment", "stream_live", "stream_override"), False),
        "actions": [],
    }


def entrants(room: RaceState) -> list[Json]:
    """Return finishers by place, then active racers, then DNFs, then DQs."""
    listed = sorted(room.entrants, key=lambda one: (_RANK.get(one.status, 1), one.place or 0, one.number))
    return [entrant(room, one) for one in listed]


def race(room: RaceState) -> Json:
    """Return a race in full, as in `/CATEGORY/RACE/data` and `race.data` frames."""
    return {
        **summary(room),
        "version": room.version,
        "slug": room.slug,
        "websocket_url": f"/ws/race/{room.slug}",
        "websocket_bot_url": f"/ws/o/bot/{room.slug}",
        "websocket_oauth_url": f"/ws/o/race/{room.slug}",
        "category": _category(room.category),
        "info_bot": room.info_bot,
        "info_user": room.info or None,
        "team_race": room.team_race,
        "entrants": entrants(room),
        "start_delay": duration(timedelta(seconds=15)),
        **_end(room),
        "unlisted": room.unlisted,
        "opened_by": user(room.opened_by, room.category),
        "monitors": [user(monitor, room.category) for monitor in room.monitors],
        "recorded_by": user(room.recorded_by, room.category),
        "hide_entrants": room.hide_entrants,
        "chat_restricted": room.hide_entrants,
        "chat_message_delay": duration(timedelta(0)),
        "bot_meta": dict(room.bot_meta),
        **dict.fromkeys(("ranked", "auto_start", "allow_comments", "allow_prerace_chat"), True),
        **dict.fromkeys(("allow_midrace_chat", "allow_non_entrant_chat"), True),
        **dict.fromkeys(("time_limit_auto_complete", "require_even_teams", "streaming_required"), False),
        **dict.fromkeys(("disqualify_unready", "hide_comments"), False),
    }


def summary(room: RaceState) -> Json:
    """Return what the lists of races say about a race."""
    return {
        "name": room.name,
        "status": _status(room.status),
        "url": f"/{room.name}",
        "data_url": f"/{room.name}/data",
        "goal": {"name": room.goal, "custom": room.custom_goal},
        "info": " | ".join(filter(None, (room.info, room.info_bot))),
        "entrants_count": len(room.entrants),
        "entrants_count_finished": sum(e.status == "done" for e in room.entrants),
        "entrants_count_inactive": sum(e.status in ("dnf", "dq") for e in room.entrants),
        "opened_at": stamp(room.opened_at),
        "started_at": stamp(room.started_at),
        "time_limit": duration(timedelta(days=1)),
        "opened_by_bot": room.opened_by_bot,
    }


def _end(room: RaceState) -> Json:
    return {
        "ended_at": stamp(room.ended_at),
        "cancelled_at": stamp(room.cancelled_at),
        "recordable": room.recordable,
        "recorded": room.recorded,
    }


def _category(category: FakeCategory) -> Json:
    return {
        "name": category.name,
        "short_name": "Sand",
        "slug": category.slug,
        "url": f"/{category.slug}",
        "data_url": f"/{category.slug}/data",
        "image": "/media/category.png",
    }


def message(room: RaceState, line: ChatLine) -> Json:
    """Return a line of chat. Chat hides entrants too, or it would reveal their names."""
    alias = room.alias(line.user)
    return {
        "id": line.id,
        "user": user(line.user, room.category) if alias is None else invented_user(alias),
        "bot": line.bot and line.bot.name,
        "direct_to": None,
        "posted_at": exact_time(line.posted_at),
        "message": line.text,
        "message_plain": line.plain,
        "highlight": line.highlight,
        "is_dm": False,
        "is_bot": line.bot is not None,
        "is_monitor": line.monitor,
        "is_system": line.is_system,
        "is_pinned": line.pinned,
        "delay": 0,
        "actions": dict(line.actions),
    }


def frame(kind: str, now: datetime, **content: Any) -> Json:
    """Return a socket frame with its type, the site's time and its content."""
    return {"type": kind, "date": exact_time(now), **content}


def category(about: FakeCategory, rooms: Iterable[RaceState], *, unlisted: bool) -> Json:
    """Return the category with its open races. Only its bots see `unlisted` races."""
    current = [room for room in rooms if not room.status.over and (unlisted or not room.unlisted)]
    return {
        **_category(about),
        "info": None,
        "streaming_required": False,
        "owners": [user(owner, about) for owner in about.owners if not owner.deleted],
        "moderators": [user(moderator, about) for moderator in about.moderators if not moderator.deleted],
        "goals": list(about.goals),
        "current_races": [summary(room) for room in current],
        "emotes": {},
    }


def race_list(past: Sequence[RaceState], *, page: int, per_page: int, show_entrants: bool) -> Json:
    """Return a page of `past` races."""
    races = [
        {**summary(room), **({"entrants": entrants(room)} if show_entrants else {}), **_end(room)}
        for room in past[(page - 1) * per_page : page * per_page]
    ]
    return {"count": len(past), "num_pages": max(1, -(-len(past) // per_page)), "races": races}


def picture(name: str) -> bytes:
    """Draw a picture in two colors that depend on the name."""
    hue = zlib.crc32(name.encode()) % 360
    drawn = Image.linear_gradient("L").resize((SIZE, SIZE))
    file = BytesIO()
    ImageOps.colorize(drawn, f"hsl({hue}, 55%, 42%)", f"hsl({hue + 30}, 65%, 78%)").save(file, "PNG")
    return file.getvalue()
