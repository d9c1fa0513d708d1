"""Scores by par as chat text: what a race scored, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from racebot.chat.format import chat_names, unbroken
from racebot.chat.rating_message import split
from racebot.scoring import standard
from racebot.scoring.rules import Rules
from racebot.scoring.table import ScoredRace
from racebot.settings.texts import Texts
from racebot.text.format import timer
from racebot.text.safe import plain


def race_scores(
    race: ScoredRace, leaderboard: str, number: int, texts: Texts, hidden: Collection[str]
) -> list[str]:
    """Return the messages with the scores of a leaderboard's race, if that text is not switched off."""
    names = chat_names(race.result.entrants, texts)
    lines = score_lines(
        race, {player: names[player] for player in race.scores if player not in hidden}, texts.scores_player
    )
    entries = list(lines.values())
    if race.par is not None and race.par.preliminary_until:
        entries.append(texts.scores_preliminary.format(needed=race.par.preliminary_until))
    opening = texts.scores.format(leaderboard=plain(leaderboard), number=number)
    return split(opening, entries, texts) if opening and race.scores else []


def score_lines(
    race: ScoredRace, names: Mapping[str, str], template: str, more: Mapping[str, Mapping[str, object]] = {}
) -> dict[str, str]:
    """Return a line for each racer with a name, best first. `more` has further fields of the template."""
    scores = [each.score for each in race.scores.values()]
    return {
        player: unbroken(
            template.format(
                place=1 + sum(other > each.score for other in scores),
                name=names[player],
                score=f"{each.score:.1f}",
                **more.get(player, {}),
            )
        )
        for player, each in race.scores.items()
        if player in names
    }


def why_score(race: ScoredRace | None, player: str, rules: Rules, texts: Texts) -> str:
    """Explain a racer's score in a race: time, par, allowances and limit; empty without one."""
    found = race.scores.get(player) if race is not None else None
    if race is None or found is None or found.time is None or race.par is None:
        return "" if found is None else texts.why_score_forfeit
    text = texts.why_score.format(
        score=f"{found.score:.1f}", time=timer(found.time), par=timer(race.par.time)
    )
    if rules.family != "ratio":
        fast, spread = standard.allowances(found.time, race.par, rules)
        text += texts.why_score_allowed.format(fast=timer(fast), spread=timer(spread))
    return text + (texts.why_score_limit.format(raw=f"{found.raw:.1f}") if found.raw != found.score else "")
