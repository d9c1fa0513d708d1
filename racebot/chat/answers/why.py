"""The answer to `!why`: the reasons for a player's change, by this room's race or by the last one."""

from __future__ import annotations

from collections.abc import Mapping

from racebot.chat.answers.context import Context, Draft, change_of, one_message
from racebot.chat.format import chat_names, decimal, ordinal, percent, shown_points, unbroken
from racebot.chat.rating_message import why_score
from racebot.ledger.rows import NamedPlayer
from racebot.queries.explain import Explanation, ReasonKind, explain_race, in_words, rules_in
from racebot.queries.history import last_race
from racebot.queries.scores import scored
from racebot.races.outcome import TeamPolicy
from racebot.races.result import EntrantStatus
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.settings.texts import Texts
from racebot.text.format import Count, signed
from racebot.text.safe import plain


def draft(context: Context, person: NamedPlayer, race: Race) -> Draft:
    """Draft the answer about one player. Ledger work."""
    texts, board = context.texts, context.board
    pending = context.pending(race, person)
    last = last_race(context.ledger, board, person.id)
    standing = context.standing(person)
    hidden = context.ledger.people.hidden() - {person.id}
    model = registry.create(board.model, board.parameters)

    def compose() -> str:
        rated = None if pending is None else pending.rate()
        is_coming = rated is not None and change_of(rated, person) is not None
        rated = rated if is_coming else last
        change = None if rated is None else change_of(rated, person)
        if rated is None or change is None:
            return texts.nothing_yet.format(name=plain(person.name), score=Count(False))
        explained = explain_race(model, TeamPolicy(board.teams), rated.result, rated.changes)
        _, explanation = explained[person.id]
        names = chat_names(rated.result.entrants, texts, hidden)
        ranked = context.is_ranked(standing, change if is_coming else None)
        opening = (texts.why_pending if is_coming else texts.why).format(
            record=Count(not context.board.rule.finished),
            name=plain(person.name),
            after=shown_points(change.points_after, texts, ranked=ranked),
            change=signed(change.points_change),
            leaderboard=context.name,
        )
        rules = context.listing.scoring
        race = scored(board, rated.result, rules, rated.note)
        score = why_score(race, person.id, rules, texts) if rules else ""
        return one_message([score, *why_phrases(explanation, names, texts)], texts, opening)

    return compose


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
