"""The answers about players: `!rating`, `!leaderboard`, `!why`, `!score`, `!need`, `!odds` and `!vs`."""

from collections.abc import Mapping

from racebot.chat.answer_context import Context, change_of, one_message
from racebot.chat.format import chat_names, decimal, ordinal, percent, unbroken
from racebot.chat.links import board_page, comparison_page
from racebot.chat.rating_message import why_score
from racebot.ledger.rows import NamedPlayer
from racebot.queries.explain import Explanation, ReasonKind, explain_race, in_words, rules_in
from racebot.queries.leaderboard import board_totals, place_among, top_players
from racebot.queries.odds import odds
from racebot.queries.player import compared, last_race, next_points
from racebot.queries.scores import league, scored
from racebot.races.outcome import TeamPolicy
from racebot.races.result import EntrantStatus
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.scoring.table import Chance, Forecast
from racebot.settings.commands import Command
from racebot.settings.texts import Texts
from racebot.text.format import Count, integer, signed, timer
from racebot.text.safe import plain

FIRST, FAVORITES = 5, 8  # how many players of a leaderboard to name, and how many entrants by their chances


def rating(context: Context, person: NamedPlayer, race: Race) -> str:
    """Write a player's points, place and record, and what the room's race will change."""
    texts, board = context.texts, context.board
    standing = context.standing(person)
    if standing is None:
        points = integer(next_points(context.ledger, board, person.id))
        phrases = [texts.rating_newcomer.format(name=plain(person.name), points=points)]
    else:
        phrases = [context.standing_phrase(person, standing)]
    if (change := change_of(context.pending(race), person)) is not None:
        phrases.append(
            texts.rating_pending.format(
                points=integer(change.points_after),
                change=signed(change.points_change),
                record=Count(not board.rule.finished),
            )
        )
    if standing is not None:
        races, finishes, wins = map(Count, (standing.races, standing.finishes, standing.wins))
        phrases.append(texts.rating_record.format(races=races, finishes=finishes, wins=wins))
    return one_message(phrases, texts)


def leaderboard(context: Context, asker: NamedPlayer) -> str:
    """Write a leaderboard's first players, by score where scores order it, and the asker's own place."""
    texts, board, listing, ledger = context.texts, context.board, context.listing, context.ledger
    if listing.ordering is not None:
        racers = league(ledger, board, listing.ordering).standings
        listed = len(racers)
        shown = [e for at, e in enumerate(racers) if at < FIRST or e.id == asker.id]
        phrases = [_entry(context, e.place, e.name, f"{e.total.score:.1f}") for e in shown]
    else:
        listed = board_totals(ledger, board, listing).listed
        players = top_players(ledger, board, listing, FIRST)
        phrases = [_entry(context, at, s.name, integer(s.points)) for at, s in players]
        own = context.standing(asker)
        if own is not None and not own.hidden and own.player not in {s.player for _, s in players}:
            place, _ = place_among(ledger, board, own, listing)
            entry = place and _entry(context, place, own.name, integer(own.points))
            phrases.append(entry or context.standing_phrase(asker, own))
    if not listed:
        return texts.leaderboard_empty.format(needed=listing.minimum_finishes)
    opening = texts.leaderboard.format(leaderboard=context.name, count=min(listed, FIRST), listed=listed)
    phrases.append(context.link_phrase(board_page(context.settings, ledger, board)))
    return one_message(phrases, texts, opening)


def _entry(context: Context, place: int, name: str, points: str) -> str:
    return unbroken(context.texts.leaderboard_player.format(place=place, name=plain(name), points=points))


def why(context: Context, person: NamedPlayer, race: Race) -> str:
    """Write the reasons for a player's change, by the room's race or by the last one."""
    texts, board, rules = context.texts, context.board, context.listing.scoring
    rated = context.pending(race)
    coming = change_of(rated, person)
    rated = rated if coming else last_race(context.ledger, board, person.id)
    change = coming or change_of(rated, person)
    if rated is None or change is None:
        return texts.nothing_yet.format(name=plain(person.name), score=Count(False))
    model = registry.create(board.model, board.parameters)
    _, explanation = explain_race(model, TeamPolicy(board.teams), rated.result, rated.changes)[person.id]
    names = chat_names(context.ledger.people.masked(rated.result, texts.hidden_name).entrants, texts)
    opening = (texts.why_pending if coming else texts.why).format(
        record=Count(not board.rule.finished),
        name=plain(person.name),
        after=integer(change.points_after),
        change=signed(change.points_change),
        leaderboard=context.name,
    )
    score = (
        why_score(scored(board, rated.result, rules, rated.note), person.id, rules, texts) if rules else ""
    )
    return one_message([score, *why_phrases(explanation, names, texts)], texts, opening)


def why_phrases(explanation: Explanation, names: Mapping[str | None, str], texts: Texts) -> list[str]:
    """Put an explanation into phrases: the place, the parts of the change, then the opponents.

    `names` are the names of the race's entrants, safe to show, by user id.
    """
    phrases, rules = [unbroken(_expectation(explanation, texts))], rules_in(texts)
    for reason in explanation.reasons():
        is_off = reason.kind is ReasonKind.LIMIT and reason.rule and not rules[reason.rule]
        if reason.kind is not ReasonKind.UNFINISHED and not is_off:
            phrases.append(in_words(reason, names, texts, rules, unbroken=unbroken, safe=plain))
    return phrases


def _expectation(explanation: Explanation, texts: Texts) -> str:
    expected = decimal(explanation.expected, texts)
    if explanation.finished:
        place, compared = explanation.place, explanation.compared
        facts = {"place": place, "ordinal": ordinal(place, texts), "compared": compared, "expected": expected}
        return texts.why_place.format(**facts, only=Count(compared == 1))
    status = texts.dq if explanation.status is EntrantStatus.DQ else texts.dnf
    known, chance = explanation.finish_chance is not None, percent(explanation.finish_chance or 0, texts)
    return texts.why_out.format(status=status, known=Count(known), chance=chance, expected=expected)


def score(context: Context, command: Command, person: NamedPlayer, race: Race) -> str:
    """Write a racer's standing, counting the room's race if it is finished; empty without scores."""
    texts, rules = context.texts, context.listing.scoring
    if rules is None:
        return ""
    pending = context.pending(race)
    table = league(context.ledger, context.board, rules, *([pending.result] if pending else []))
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
        chance, par = outlook.chance, timer(forecast.par.time if forecast.par else 0)
        if chance in {Chance.TIME, Chance.FINISH}:
            is_any, time = Count(chance is Chance.FINISH), timer(outlook.time or 0)
            text = texts.need_race.format(any=is_any, time=time, par=par)
        else:
            text = texts.need_outlook.format(
                secured=Count(chance is Chance.SECURED),
                inside=Count(chance is Chance.INSIDE),
                beyond=Count(chance is Chance.OUT_OF_REACH),
                left=Count(chance is not Chance.OVER),
            )
        return texts.need.format(**values) + text
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


def odds_of(context: Context, race: Race) -> str:
    """Write the entrants' chances to win, or why there are none."""
    texts = context.texts
    phrases = odds_phrases(context, race)
    if not phrases:
        return texts.odds_none.format(counts=Count(True))
    return one_message(phrases, texts, texts.odds.format(leaderboard=context.name))


def odds_phrases(context: Context, race: Race) -> list[str]:
    """List the best entrants' chances to win, the favorite first, and count the others.

    There are none unless two known entrants who are not hidden wait for the start, without teams.
    """
    texts, hidden = context.texts, context.ledger.people.hidden()
    entrants = [entrant for entrant in race.entrants if entrant.user_id is not None]
    teams = context.board.teams != TeamPolicy.INDIVIDUAL and any(each.team for each in race.entrants)
    if not race.before_start or race.hidden or teams:
        return []
    names = chat_names(entrants, texts)
    found = odds(context.ledger, context.board, [str(entrant.user_id) for entrant in entrants])
    visible = [each for each in found if each.id not in hidden]
    if len(visible) < 2:
        return []
    visible.sort(key=lambda each: (-each.forecast.win_chance, names[each.id]))
    phrases = []
    for each in visible[:FAVORITES]:
        chance = percent(each.forecast.win_chance, texts)
        phrases.append(texts.odds_player.format(name=names[each.id], chance=chance, new=Count(each.new)))
    if len(visible) > FAVORITES:
        phrases.append(texts.more.format(count=len(visible) - FAVORITES))
    return list(map(unbroken, phrases))


def versus(context: Context, asker: NamedPlayer, other: NamedPlayer) -> str:
    """Compare the asker with another player."""
    texts, board, ledger = context.texts, context.board, context.ledger
    if asker.id == other.id:
        return texts.versus_whom.format(command=context.settings.command_prefix + Command.VERSUS)
    found = compared(ledger, board, asker.id, other.id)
    points, other_points = (integer(next_points(ledger, board, each.id)) for each in (asker, other))
    record = texts.versus_record.format(won=found.ahead, lost=found.behind, met=Count(found.met))
    opening = texts.versus.format(name=plain(asker.name), other=plain(other.name), leaderboard=context.name)
    page = comparison_page(context.settings, ledger, board, asker.id, other.id)
    phrases = [
        record if found.met else texts.versus_never,
        texts.versus_points.format(points=points, other_points=other_points),
        texts.versus_chance.format(chance=percent(found.chance, texts), other=plain(other.name)),
        context.link_phrase(page) if found.met else "",
    ]
    return one_message(phrases, texts, opening)
