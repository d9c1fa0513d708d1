"""Render the category with its open races, and the list of past races, as the site's JSON."""

from __future__ import annotations

from typing import Any

from racebot.sandbox import render
from racebot.sandbox.site import FakeSite
from racebot.sandbox.text import stamp


def category(site: FakeSite, *, unlisted: bool) -> dict[str, Any]:
    """Return the category with its open races. Only its bots see `unlisted` races."""
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
        "image": about.image,
        "info": None,
        "streaming_required": False,
        "owners": [render.user(owner, about) for owner in about.owners if not owner.deleted],
        "moderators": [
            render.user(moderator, about) for moderator in about.moderators if not moderator.deleted
        ],
        "goals": list(about.goals),
        "current_races": [render.summary(room) for room in current],
        "emotes": {},
    }


def race_list(
    site: FakeSite, *, page: int = 1, per_page: int = 10, show_entrants: bool = False
) -> dict[str, Any]:
    """Return a page of past races, most recently ended first."""
    past = site.past_races()
    chosen = past[(page - 1) * per_page : page * per_page]
    races = []
    for room in chosen:
        known = {"entrants": render.entrants(room)} if show_entrants else {}
        end = {
            "ended_at": stamp(room.ended_at),
            "cancelled_at": stamp(room.cancelled_at),
            "recordable": room.recordable,
            "recorded": room.recorded,
        }
        races.append({**render.summary(room), **known, **end})
    return {"count": len(past), "num_pages": max(1, -(-len(past) // per_page)), "races": races}
