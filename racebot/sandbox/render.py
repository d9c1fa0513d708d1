"""The site's JSON: users, entrants, races, categories, lists, messages and frames.

Key order and types follow what the site sends. Every answer is a fresh value.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from racebot.sandbox.people import Category, User
from racebot.sandbox.text import duration, exact, ordinal, slugify, stamp

if TYPE_CHECKING:
    from racebot.sandbox.room import Entrant, Message, Room
    from racebot.sandbox.site import Site

Json = dict[str, Any]

RACE_STATUS = {
    "open": ("Open", "Anyone may join this race"),
    "invitational": ("Invitational", "Only invitees may join this race"),
    "pending": ("Pending", "The race is about to begin"),
    "in_progress": ("In progress", "Race is in progress"),
    "finished": ("Finished", "This race has been completed"),
    "cancelled": ("Cancelled", "This race has been cancelled"),
}

ENTRANT_STATUS = {
    "requested": ("Join request", "Wishes to join the race."),
    "invited": ("Invited", "Has been invited to the race."),
    "not_ready": ("Not ready", "Not ready to begin yet."),
    "ready": ("Ready", "Ready to begin the race."),
    "in_progress": ("In progress", "Still flyin'."),
    "done": ("Finished", "Finished the race."),
    "dnf": ("DNF", "Did not finish the race."),
    "dq": ("DQ", "Disqualified by a category moderator."),
}

_RANK = {
    "done": 0,
    "in_progress": 1,
    "ready": 1,
    "not_ready": 1,
    "invited": 2,
    "requested": 3,
    "dnf": 4,
    "dq": 5,
}
"""The order in which entrants are listed."""


def user(account: User | None, category: Category) -> Json | None:
    """An account; None where there is none or it was deleted."""
    if account is None or account.deleted:
        return None
    moderates = category.may_moderate(account)
    path = f"/user/{account.id}/{slugify(account.name)}"
    return {
        "id": account.id,
        "full_name": account.full_name,
        "name": account.name,
        "discriminator": account.discriminator,
        "url": path.rstrip("/"),
        "avatar": None,
        "pronouns": None,
        "flair": "moderator" if moderates else "",
        "twitch_name": None,
        "twitch_display_name": None,
        "twitch_channel": None,
        "can_moderate": moderates,
    }


def invented_user(name: str) -> Json:
    """What stands for an entrant while the race hides who is in it."""
    return {
        "id": "",
        "full_name": name,
        "name": name,
        "discriminator": None,
        "url": None,
        "avatar": None,
        "pronouns": None,
        "flair": "",
        "twitch_name": None,
        "twitch_display_name": None,
        "twitch_channel": None,
        "can_moderate": False,
    }


def _status(value: str, texts: dict[str, tuple[str, str]]) -> Json:
    verbose, help_text = texts[value]
    return {"value": str(value), "verbose_value": verbose, "help_text": help_text}


def _actions(room: Room, entrant: Entrant) -> list[str]:
    standing = str(entrant.standing)
    if room.recorded or standing == "dq":
        return []
    if room.status == "cancelled":
        return {"ready": ["done", "forfeit"], "dnf": ["unforfeit"]}.get(standing, [])
    if room.status == "finished" and standing == "ready":
        return ["add_comment", "done", "forfeit"]
    return {
        "requested": ["cancel_invite"],
        "invited": ["accept_invite", "decline_invite"],
        "not_ready": ["ready", "leave"],
        "ready": ["unready", "leave"],
        "in_progress": ["done", "forfeit"],
        "done": ["add_comment", "undone"],
        "dnf": ["add_comment", "unforfeit"],
    }[standing]


def entrant(room: Room, one: Entrant) -> Json:
    team = (
        None
        if one.team is None
        else {"name": one.team.name, "slug": one.team.slug, "formal": one.team.formal}
    )
    return {
        "user": invented_user(one.alias) if room.hide_entrants else user(one.user, room.site.category),
        "team": team,
        "status": _status(one.standing, ENTRANT_STATUS),
        "finish_time": duration(one.finish_time),
        "finished_at": stamp(one.finished_at),
        "place": one.place,
        "place_ordinal": ordinal(one.place),
        "score": one.score,
        "score_change": one.score_change,
        "comment": None,
        "has_comment": False,
        "stream_live": False,
        "stream_override": False,
        "actions": _actions(room, one),
    }


def entrants(room: Room) -> list[Json]:
    """Finishers by place, then who still races by score, then who gave up, then the disqualified."""

    def key(one: Entrant) -> tuple[int, int, int, int]:
        return (_RANK[one.standing], one.place or 0, -(one.score or 0), one.number)

    return [entrant(room, one) for one in sorted(room.entrants, key=key)]


def _counts(room: Room) -> Json:
    return {
        "entrants_count": len(room.counted),
        "entrants_count_finished": sum(e.standing == "done" for e in room.counted),
        "entrants_count_inactive": sum(e.standing in ("dnf", "dq") for e in room.counted),
    }


def _goal(room: Room) -> Json:
    return {"name": room.goal, "custom": room.custom_goal}


def _settings_duration(**length: int) -> str | None:
    return duration(timedelta(**length), fraction=False)


def race(room: Room) -> Json:
    """A race in full: what `/CATEGORY/RACE/data` and the `race.data` frame hold."""
    category = room.site.category
    return {
        "version": room.version,
        "name": room.name,
        "slug": room.slug,
        "status": _status(room.status, RACE_STATUS),
        "url": f"/{room.name}",
        "data_url": f"/{room.name}/data",
        "websocket_url": f"/ws/race/{room.slug}",
        "websocket_bot_url": f"/ws/o/bot/{room.slug}",
        "websocket_oauth_url": f"/ws/o/race/{room.slug}",
        "category": {
            "name": category.name,
            "short_name": category.short_name,
            "slug": category.slug,
            "url": f"/{category.slug}",
            "data_url": f"/{category.slug}/data",
            "image": None,
        },
        "goal": _goal(room),
        "info": room.info,
        "info_bot": room.info_bot,
        "info_user": room.info_user,
        "team_race": room.team_race,
        **_counts(room),
        "entrants": entrants(room),
        "opened_at": stamp(room.opened_at),
        "start_delay": _settings_duration(seconds=15),
        "started_at": stamp(room.started_at),
        "ended_at": stamp(room.ended_at),
        "cancelled_at": stamp(room.cancelled_at),
        "ranked": True,
        "unlisted": room.unlisted,
        "time_limit": _settings_duration(days=1),
        "time_limit_auto_complete": False,
        "require_even_teams": False,
        "streaming_required": False,
        "auto_start": True,
        "opened_by": user(room.opened_by, category),
        "opened_by_bot": None,
        "monitors": [user(monitor, category) for monitor in room.monitors if not monitor.deleted],
        "recordable": room.recordable,
        "recorded": room.recorded,
        "recorded_by": user(room.recorded_by, category),
        "disqualify_unready": False,
        "allow_comments": True,
        "hide_comments": False,
        "hide_entrants": room.hide_entrants,
        "chat_restricted": room.hide_entrants,
        "allow_prerace_chat": True,
        "allow_midrace_chat": True,
        "allow_non_entrant_chat": True,
        "chat_message_delay": _settings_duration(seconds=0),
        "bot_meta": dict(room.bot_meta),
    }


def _summary(room: Room) -> Json:
    return {
        "name": room.name,
        "status": _status(room.status, RACE_STATUS),
        "url": f"/{room.name}",
        "data_url": f"/{room.name}/data",
        "goal": _goal(room),
        "info": room.info,
        **_counts(room),
        "opened_at": stamp(room.opened_at),
        "started_at": stamp(room.started_at),
        "time_limit": _settings_duration(days=1),
        "opened_by_bot": None,
    }


def category(site: Site, *, unlisted: bool) -> Json:
    """The category with the races that are not over; `unlisted` ones only for its bots."""
    about = site.category
    current = [
        room for room in site.rooms.values() if not room.status.over and (unlisted or not room.unlisted)
    ]
    return {
        "name": about.name,
        "short_name": about.short_name,
        "slug": about.slug,
        "url": f"/{about.slug}",
        "data_url": f"/{about.slug}/data",
        "image": None,
        "info": None,
        "streaming_required": False,
        "owners": [user(owner, about) for owner in about.owners if not owner.deleted],
        "moderators": [user(moderator, about) for moderator in about.moderators if not moderator.deleted],
        "goals": list(about.goals),
        "current_races": [_summary(room) for room in current],
        "emotes": {},
    }


def race_list(site: Site, *, page: int = 1, per_page: int = 10, show_entrants: bool = False) -> Json:
    """A page of past races, the one that ended last first."""
    past = site.past_races()
    chosen = past[(page - 1) * per_page : page * per_page]
    races = []
    for room in chosen:
        known = {"entrants": entrants(room)} if show_entrants else {}
        end = {
            "ended_at": stamp(room.ended_at),
            "cancelled_at": stamp(room.cancelled_at),
            "recordable": room.recordable,
            "recorded": room.recorded,
        }
        races.append({**_summary(room), **known, **end})
    return {"count": len(past), "num_pages": max(1, -(-len(past) // per_page)), "races": races}


def leaderboards(site: Site) -> Json:
    """The site's own leaderboards: one per goal, by score, of those who have finished a race."""
    boards = []
    for goal in site.category.goals:
        rows = []
        for (scored_goal, user_id), score in site.scores.items():
            account = site.users.get(user_id)
            if scored_goal != goal or account is None or account.deleted:
                continue
            runs = [
                entrant
                for room in site.rooms.values()
                for entrant in room.entrants
                if room.recorded and room.goal == goal and entrant.user is account
            ]
            best = min((run.finish_time for run in runs if run.place and run.finish_time), default=None)
            if best is not None:
                rows.append((score, account, best, len(runs)))
        rows.sort(key=lambda row: (-row[0], row[1].name))
        rankings = [
            {
                "user": user(account, site.category),
                "place": place,
                "place_ordinal": ordinal(place),
                "score": score,
                "best_time": duration(best),
                "times_raced": times,
            }
            for place, (score, account, best, times) in enumerate(rows, 1)
        ]
        boards.append({"goal": goal, "num_ranked": len(rankings), "rankings": rankings})
    return {"leaderboards": boards}


def message(room: Room, line: Message) -> Json:
    """A line of chat."""
    author = user(line.user, room.site.category)
    if author is not None and room.hide_entrants:
        # An entrant is hidden in chat as well, or the names would be plain from there.
        hidden = [e.alias for e in room.entrants if e.user is line.user]
        author = invented_user(hidden[0]) if hidden else author
    return {
        "id": line.id,
        "user": author,
        "bot": None if line.bot is None else line.bot.name,
        "direct_to": None,
        "posted_at": exact(line.posted_at),
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


def note(line: Message) -> Json:
    """A private message, for whoever runs the sandbox; the site itself shows it to nobody else."""
    return {
        "id": line.id,
        "bot": None if line.bot is None else line.bot.name,
        "to": None if line.direct_to is None else line.direct_to.name,
        "posted_at": exact(line.posted_at),
        "message": line.text,
        "actions": dict(line.actions),
    }


def frame(kind: str, now: datetime, **content: Any) -> Json:
    """A frame of the socket: its type, the site's time, and what it says."""
    return {"type": kind, "date": exact(now), **content}


def errors(now: datetime, *texts: str) -> Json:
    return frame("error", now, errors=list(texts))


def chat_frame(room: Room, line: Message, now: datetime) -> Json:
    return frame("chat.message", now, message=message(room, line))


def note_frame(line: Message, now: datetime) -> Json:
    """A private message: who wrote to whom and the message's id, but not what."""
    to = line.direct_to
    return frame(
        "chat.dm",
        now,
        message=line.id,
        from_user=None,
        from_bot=None if line.bot is None else line.bot.name,
        to=None
        if to is None
        else {"id": to.id, "full_name": to.full_name, "name": to.name, "discriminator": to.discriminator},
    )


def race_frames(room: Room, now: datetime) -> tuple[Json, Json]:
    """The two frames that follow each change. The markup in the second is of no use to a bot."""
    renders = {"entrants": "", "intro": "", "status": "", "streams": ""}
    return (
        frame("race.data", now, race=race(room), version=room.version),
        frame("race.renders", now, renders=renders, version=room.version),
    )
