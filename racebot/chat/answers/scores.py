"""The answers to `!score` and `!need`: a racer's standing by par, and what is needed to qualify."""

from __future__ import annotations

from racebot.chat.answers.context import Context, one_message
from racebot.chat.format import ordinal
from racebot.ledger.rows import NamedPlayer
from racebot.queries.scores import league
from racebot.racetime.payload import Race
from racebot.scoring.table import Chance, Forecast
from racebot.settings.commands import Command
from racebot.text.format import Count, timer
from racebot.text.safe import plain


def answer(context: Context, command: Command, person: NamedPlayer, race: Race) -> str:
    """Write a racer's standing, counting the room's race if it is finished; empty without scores."""
    texts, rules = context.texts, context.listing.scoring
    if rules is None:
        return ""
    pending = context.pending(race, person)
    coming = [] if pending is None else [pending.result]
    table = league(context.ledger, context.board, rules, *coming)
    standing = next((each for each in table.standings if each.id == person.id), None)
    forecast = Forecast(table, rules.cut) if rules.cut else None
    if command is Command.NEED and forecast is None:
        return texts.scores_missing.format(leaderboard=context.name, cut=Count(True))
    if standing is None:
        return texts.nothing_yet.format(name=plain(person.name), score=Count(True))
    values = {
        "leaderboard": context.name,
        "name": plain(person.name),
        "ordinal": ordinal(standing.place, texts),
        "listed": len(table.standings),
        "score": f"{standing.total.score:.1f}",
        "line": "–" if forecast is None or forecast.line is None else f"{forecast.line:.1f}",
    }
    if command is Command.NEED and forecast is not None:
        outlook = forecast.of(standing)
        text = {
            Chance.SECURED: texts.need_secured,
            Chance.INSIDE: texts.need_inside,
            Chance.TIME: texts.need_race,
            Chance.FINISH: texts.need_race,
            Chance.OUT_OF_REACH: texts.need_out_of_reach,
            Chance.OVER: texts.need_over,
        }[outlook.chance]
        return texts.need.format(**values) + text.format(
            any=Count(outlook.chance is Chance.FINISH),
            time=timer(outlook.time or 0),
            par=timer(forecast.par.time if forecast.par else 0),
        )
    shown = [(f"{each.score:.1f}", at in standing.counted) for at, each in enumerate(standing.scores) if each]
    counted, dropped = (", ".join(s for s, counts in shown if counts is wanted) for wanted in (True, False))
    division, least = standing.total.division, Count(standing.total.divisor)
    phrases = [
        texts.score.format(**values),
        texts.score_counted.format(scores=counted),
        texts.score_division.format(division=division, least=least) if division else "",
        texts.score_dropped.format(scores=dropped) if dropped else "",
        texts.score_cut.format(**values) if forecast is not None else "",
    ]
    return one_message(phrases, texts)
