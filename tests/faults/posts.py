"""The messages of races on Discord: one for each race that the worker knew, with the last word right."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from racebot.settings.texts import DEFAULT_TEXTS

WEBHOOK = "/api/webhooks/1/a-token-that-nobody-may-see"
_PLACE = re.compile(r"^\*\*(\d+)\*\*\s", re.MULTILINE)
_TEAM_PLACE = re.compile(r"^(\d+)\sTeam\s", re.MULTILINE)
"""Only the first entrant of a team has it."""

Told = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""The ledger's changes by leaderboard, race and player."""


def posts(messages: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    """Return the descriptions in each message, oldest first, by race."""
    found = defaultdict(list)
    for message in messages.values():
        race = "/".join(message["embeds"][0]["url"].split("/")[-2:])
        found[race].append([embed["description"] for embed in message["embeds"]])
    return found


def missing(
    shown: Mapping[str, list[list[str]]],
    told: Told,
    hidden: Collection[str],
    race: str,
    *,
    known: bool,
    by_team: bool,
) -> Iterator[str]:
    """Say how the last message of a race differs from the ledger. The worker may have `known` the race."""
    changes = [told[board][race] for board in told if race in told[board]]
    last = shown[race][-1] if race in shown else []
    if not changes:
        is_empty = all(DEFAULT_TEXTS.no_changes in text for text in last)
        if last != [DEFAULT_TEXTS.not_counted] and not is_empty and "if recorded" not in last[0]:
            yield f"{race}: Discord shows what the ledger has not: {last}"
        return
    if not last:
        if known:
            yield f"{race}: is not on Discord"
        return
    opening = DEFAULT_TEXTS.info.partition(" (")[0]
    seen = [[row["place"] for player, row in of.items() if player not in hidden] for of in changes]
    places = [sorted(filter(None, found))[:10] for found in seen]
    listed = [[int(place) for place in _PLACE.findall(text)] for text in last]
    if by_team:
        places = [sorted(set(each)) for each in places]
        listed = [
            sorted(set(map(int, _TEAM_PLACE.findall(text))))
            for text in last
            if DEFAULT_TEXTS.no_changes not in text
        ]
    if any(not text.startswith(opening) for text in last) or sorted(places) != sorted(listed):
        yield f"{race}: Discord shows {last}, the ledger places {places}"
