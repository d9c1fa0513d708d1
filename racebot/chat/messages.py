"""What the bot says: rating changes as chat messages, info block and machine-readable meta. Pure text.

The wording is `texts.py`'s. Chat shows one paragraph in a narrow column, so players are separated by a
middle dot, ordered by place, and a message that would grow past the site's limit is split between
players.
"""

from __future__ import annotations

from collections.abc import Sequence

from racebot.chat.templates import DEFAULT_TEXTS, Texts
from racebot.races.change import Change
from racebot.races.result import Entrant, EntrantStatus, RaceResult, shown_names
from racebot.text.format import signed
from racebot.text.safe import plain

MESSAGE_LIMIT = 1000


def provisional(
    result: RaceResult,
    goal: str,
    changes: Sequence[Change],
    texts: Texts = DEFAULT_TEXTS,
    *,
    by_team: bool = False,
    correction: int = 0,
    again: bool = False,
) -> list[str]:
    """The messages that tell what a finished race will do once it is recorded; none where that is silent.

    Args:
        result: the race, for names.
        goal: the leaderboard's name.
        changes: of all rated entrants.
        texts: the wording.
        by_team: whether the leaderboard rates team races by team.
        correction: 0 for the first time, then 1, 2, … so that no two messages are the same.
        again: whether a moderator asked to hear it once more.
    """
    template = texts.again if again else texts.correction if correction else texts.provisional
    if not template:
        return []
    phrases = players(result, changes, texts, by_team=by_team) or [texts.no_changes]
    return split(template.format(goal=plain(goal), number=correction), phrases, texts)


def team_race(goal: str, texts: Texts = DEFAULT_TEXTS) -> list[str]:
    """The message that says why a team race changes nothing, unless that is silent."""
    return [texts.team_race.format(goal=plain(goal))] if texts.team_race else []


def players(
    result: RaceResult, changes: Sequence[Change], texts: Texts = DEFAULT_TEXTS, *, by_team: bool = False
) -> list[str]:
    """Return one short phrase for each rated entrant, by place, those without one last.

    Where teams are rated, the first phrase of each team begins with the team's place and name.
    """
    entrants = {entrant.user_id: entrant for entrant in result.entrants}
    shown = shown_names(result.entrants)
    ordered = by_place(changes)
    if by_team and result.team_race:
        teams = {change.player: entrants[change.player].team or "" for change in changes}
        ordered.sort(key=lambda change: (change.place is None, change.place or 0, teams[change.player]))
    phrases = []
    last = None
    for change in ordered:
        entrant = entrants[change.player]
        team = entrant.team if by_team else None
        template = texts.player if team is None else texts.teammate if team == last else texts.team_player
        if template:
            phrases.append(_player(entrant, shown[entrant], change, texts, template))
        last = team
    return phrases


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


def standing_word(entrant: Entrant, change: Change, texts: Texts = DEFAULT_TEXTS) -> str:
    """Return an entrant's place, or the reason for having none."""
    if change.place is not None:
        return str(change.place)
    if entrant.finished:
        return texts.team_dnf
    return texts.dq if entrant.status is EntrantStatus.DQ else texts.dnf


def _player(entrant: Entrant, name: str, change: Change, texts: Texts, template: str) -> str:
    of_team = template == texts.team_player and change.place is None
    return template.format(
        place=texts.team_dnf if of_team else standing_word(entrant, change, texts),
        team=plain(entrant.team_name or entrant.team or ""),
        name=plain(name),
        before=change.points_before,
        after=change.points_after,
        change=signed(change.points_change),
        new=texts.new if change.races_before == 0 else "",
    )


def by_place(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda c: (c.place is None, c.place or 0, -c.points_after, c.player))
