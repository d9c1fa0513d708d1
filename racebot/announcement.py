"""What the bot says: rating changes as chat messages, info block and machine-readable meta. Pure text.

The wording is `texts.py`'s. Chat shows one paragraph in a narrow column, so players are separated by a
middle dot, ordered by place, and a message that would grow past the site's limit is split between
players.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from racebot.races.change import Change
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.texts import DEFAULT_TEXTS, Texts

MESSAGE_LIMIT = 1000
INFO_LIMIT = 1000
META_LIMIT = 2048
META_KEY = "racebot"

_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_ISOLATE, _END_ISOLATE = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"


class InfoPolicy(StrEnum):
    """Whether the final changes go into `info_bot`, which all bots of a category share."""

    WHEN_EMPTY = "when-empty"
    """Only where it is empty or holds our own block alone."""
    APPEND = "append"
    """Below what other bots wrote, each of their lines kept."""
    NEVER = "never"


def plain(text: str) -> str:
    """Text from a user made harmless: no mention, no link, no control character, no line break.

    The site turns `@everyone` and the like into notifications and addresses into links, also in a bot's
    message; the look-alike characters used instead are neither. Text that is written from right to left is
    isolated, or it would turn round the numbers that follow it: 1530→1000 in place of 1000→1530.
    """
    visible = printable(text)
    visible = visible.replace("@", "＠").replace("://", ":∕∕").replace("##", "#＃")
    visible = re.sub(r"\.(?=[^\W\d_]{2})", "․", visible)
    visible = " ".join(visible.split()) or "?"
    turned = any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in visible)
    return f"{_ISOLATE}{visible}{_END_ISOLATE}" if turned else visible


def printable(text: str) -> str:
    """Text without control characters or line breaks, otherwise as it is: for terminals and files."""
    return "".join(" " if char.isspace() else char for char in text if _visible(char))


def provisional(
    result: RaceResult,
    goal: str,
    changes: Sequence[Change],
    texts: Texts = DEFAULT_TEXTS,
    *,
    correction: int = 0,
    again: bool = False,
) -> list[str]:
    """The messages that tell what a finished race will do once it is recorded; none where that is silent.

    Args:
        result: the race, for names.
        goal: the leaderboard's name.
        changes: of all rated entrants.
        texts: the wording.
        correction: 0 for the first time, then 1, 2, … so that no two messages are the same.
        again: whether a moderator asked to hear it once more.
    """
    template = texts.again if again else texts.correction if correction else texts.provisional
    if not template:
        return []
    phrases = players(result, changes, texts) or [texts.no_changes]
    return split(template.format(goal=plain(goal), number=correction), phrases, texts)


def team_race(goal: str, texts: Texts = DEFAULT_TEXTS) -> list[str]:
    """The message that says why a team race changes nothing, unless that is silent."""
    return [texts.team_race.format(goal=plain(goal))] if texts.team_race else []


def info_block(result: RaceResult, goal: str, changes: Sequence[Change], texts: Texts = DEFAULT_TEXTS) -> str:
    """The final changes for the race page, shortened to the site's limit by leaving out the last players."""
    opening = texts.info.format(goal=plain(goal))
    parts = players(result, changes, texts)
    shown = len(parts)
    while True:
        rest = len(parts) - shown
        more = [texts.more.format(count=rest)] if rest and texts.more else []
        text = opening + texts.separator.join([*parts[:shown], *more])
        if len(text) <= INFO_LIMIT or shown == 0:
            return " ".join(text[:INFO_LIMIT].splitlines())
        shown -= 1


def merged_info(
    existing: str, blocks: Sequence[str], policy: InfoPolicy, texts: Texts = DEFAULT_TEXTS
) -> str | None:
    """What `info_bot` should hold, or None where it is to be left as it is.

    A line is ours if it begins as `texts.info` does, or as it does by default.

    Lines that are not ours are kept as they stand; blocks that do not fit below them are left out.
    """
    openings = tuple(own.info.partition("{")[0] for own in (texts, DEFAULT_TEXTS) if own.info)
    foreign = [line for line in existing.split("\n") if not line.startswith(openings)]
    while foreign and not foreign[-1].strip():
        foreign.pop()
    if policy is InfoPolicy.NEVER or (policy is InfoPolicy.WHEN_EMPTY and foreign):
        return None
    text = "\n".join(foreign)
    for block in blocks:
        longer = f"{text}\n{block}" if text else block
        if len(longer) <= INFO_LIMIT:
            text = longer
    return None if text.rstrip() == existing.rstrip() else text


def meta(existing: Mapping[str, Any], boards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Our one key of `bot_meta`, as `setmeta` takes it.

    Changes that would take the whole of `bot_meta` past the site's limit are left out from the end, and
    counted under `omitted`.

    Args:
        existing: what `bot_meta` holds now; the site merges key by key, so other keys stay and count
            against the limit.
        boards: one entry per leaderboard, from `meta_entry`.
    """
    entries = [{**board, "changes": dict(board["changes"])} for board in boards]
    others = {key: value for key, value in existing.items() if key != META_KEY}
    while len(json.dumps({**others, META_KEY: entries}).encode()) > META_LIMIT:
        longest = max(entries, key=lambda entry: len(entry["changes"]), default=None)
        if longest is None or not longest["changes"]:
            return {META_KEY: []}
        longest["changes"].popitem()
        longest["omitted"] = longest.get("omitted", 0) + 1
    return {META_KEY: entries}


def meta_entry(goal: str, model: str, changes: Sequence[Change]) -> dict[str, Any]:
    """One leaderboard's final changes for machines: `[before, after]` points by user id, by place."""
    return {
        "leaderboard": goal,
        "model": model,
        "changes": {c.player: [c.points_before, c.points_after] for c in _by_place(changes)},
    }


def players(result: RaceResult, changes: Sequence[Change], texts: Texts = DEFAULT_TEXTS) -> list[str]:
    """One short phrase per rated entrant, by place, those who did not finish last."""
    entrants = {entrant.user_id: entrant for entrant in result.entrants}
    return [_player(entrants[change.player], change, texts) for change in _by_place(changes)]


def split(
    opening: str, parts: Sequence[str], texts: Texts = DEFAULT_TEXTS, limit: int = MESSAGE_LIMIT
) -> list[str]:
    """One or more messages of at most `limit` characters, broken between parts only."""
    messages = [opening[:limit]]
    fresh = True
    for part in parts:
        longer = messages[-1] + ("" if fresh else texts.separator) + part
        if len(longer) > limit and not fresh:
            messages.append((texts.continued + part)[:limit])
        else:
            messages[-1] = longer[:limit]
        fresh = False
    return messages


def signed(change: int) -> str:
    """A change of points with its sign, as people write it: +12, −5, ±0."""
    return f"+{change}" if change > 0 else f"−{-change}" if change < 0 else "±0"


def part_phrases(change: Change) -> list[str]:
    """What each step of the model gave, in words: `+12 for finishing`, `−5 for the place`."""
    finished = change.place is not None
    words = {"finish": "finishing" if finished else "not finishing", "place": "the place"}
    return [
        f"{signed(points)} for {words.get(name, name)}"
        for name, points in change.parts
        if finished or name != "place" or points
    ]


def standing_word(entrant: Entrant, change: Change, texts: Texts = DEFAULT_TEXTS) -> str:
    """A finisher's place, or DNF or DQ."""
    if change.place is not None:
        return str(change.place)
    return texts.dq if entrant.status is EntrantStatus.DQ else texts.dnf


def _player(entrant: Entrant, change: Change, texts: Texts) -> str:
    return texts.player.format(
        place=standing_word(entrant, change, texts),
        name=plain(entrant.name),
        before=change.points_before,
        after=change.points_after,
        change=signed(change.points_change),
        new=texts.new if change.races_before == 0 else "",
    )


def _by_place(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda c: (c.place is None, c.place or 0, -c.points_after, c.player))


def _visible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
