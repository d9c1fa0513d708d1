"""The order in which a leaderboard seeds a bracket, and the report of a tournament."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Any

from racebot.ledger.orders import OrderKind
from racebot.ledger.rows import Leaderboard, Standing
from racebot.ledger.store import Ledger
from racebot.queries import Place
from racebot.queries.scores import league, scored
from racebot.queries.standings import Listing, listed_now, place_of
from racebot.races.outcome import TeamPolicy, places
from racebot.races.result import Profile, result_label, shown_names
from racebot.text.format import counted, gap, integer, timer

AROUND_NAMES = " \t\r\n\"'“”„«»<>@,;"  # what organisers type around a name in a list

ORDERS_OF_PLAYERS = {OrderKind.ANNUL, OrderKind.RESTORE, OrderKind.PENALTY}


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed of a bracket, from 1, and a note that explains it.

    `place` is None for a player whom the leaderboard does not list, and `points` before the first rated race.
    `score` is None without scores by par. `entrant` is the name given, if any was.
    """

    seed: int
    place: Place
    id: str
    name: str
    twitch: str
    points: int | None
    races: int
    score: float | None
    note: str = ""
    entrant: str = ""


@dataclass(frozen=True, slots=True)
class NotSeeded:
    """An entrant without a seed: the name given, the reason, and the nearest name, empty if none is near."""

    entrant: str
    reason: str
    nearest: str = ""


@dataclass(frozen=True, slots=True)
class SeedList:
    """The seeds of a leaderboard, best first, and the entrants who have none."""

    leaderboard: str
    seeds: Sequence[Seed]
    missing: Sequence[NotSeeded]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A standing, race, result or order, as `kind` says. A race's `time` is its par, if it has one."""

    kind: str
    place: int | None = None
    player: str = ""
    race: str = ""
    at: datetime | None = None
    time: str = ""
    score: float | None = None
    points: int | None = None
    note: str = ""


def seed_list(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    entrants: Iterable[str] | None = None,
    limit: int | None = None,
) -> SeedList:
    """Return the first `limit` seeds of the listed players, or of the entrants that are named.

    Names are found as in chat, in any case, with or without accents and discriminator, or else on Twitch; ids
    count as names.
    Entrants whom the leaderboard does not list come last, by rating. Equal places are by rating, then name.
    """
    places, scores = _places(ledger, board, listing)
    if entrants is None:
        worst = max(sorted(places.values())[:limit], default=0)
        given, missing = {player: "" for player, place in places.items() if place <= worst}, list[NotSeeded]()
    else:
        given, missing = _accounts(ledger, board, entrants, places)
    known = {each.player: each for each in ledger.standings.of(board, given)}
    below = {player: -each.rating for player, each in known.items()}
    names, profiles = ledger.people.names(given), ledger.profiles.all()
    order = {each: (places.get(each, inf), below.get(each, inf), names[each].casefold()) for each in names}
    ordered = sorted(names, key=lambda each: (order[each], each))[:limit]
    seeds = []
    for number, (player, above) in enumerate(zip(ordered, ["", *ordered], strict=False), start=1):
        standing, place = known.get(player), places.get(player)
        seed = Seed(
            seed=number,
            place=place,
            id=player,
            name=names[player],
            twitch=profiles.get(player, Profile()).twitch,
            points=standing and standing.points,
            races=standing.races if standing else 0,
            score=scores.get(player),
            entrant=given[player],
        )
        level = ""
        if place is not None and place == places.get(above):
            level = "in the order of names" if below.get(player) == below.get(above) else "by rating"
        seeds.append(replace(seed, note="; ".join(_note(seed, len(places), standing, listing, level))))
    return SeedList(board.name, seeds, missing)


def _accounts(
    ledger: Ledger, board: Leaderboard, entrants: Iterable[str], listed: Collection[str]
) -> tuple[dict[str, str], list[NotSeeded]]:
    """Return the named players who are listed or rated, each with the name given, and the other entrants."""
    given, missing = dict[str, str](), list[NotSeeded]()
    merged, hidden = ledger.people.merged(), ledger.people.hidden()
    for text in dict.fromkeys(filter(None, (each.strip(AROUND_NAMES) for each in entrants))):
        called = [each.id for each in ledger.players.named(text)] or ledger.profiles.on_twitch(text)
        accounts = {merged.get(player, player) for player in called} - hidden
        races = {each.player: each.races for each in ledger.standings.of(board, accounts)}
        # Of several, the one with most races.
        player = max(sorted(accounts), key=lambda each: races.get(each, -1), default="")
        if player in races or player in listed:
            given[player] = text
        elif player:
            missing.append(NotSeeded(text, "no rated race on this leaderboard"))
        else:
            missing.append(NotSeeded(text, "no player has that name", *ledger.people.similar(text, 5)[:1]))
    return given, missing


def _places(ledger: Ledger, board: Leaderboard, listing: Listing) -> tuple[dict[str, int], dict[str, float]]:
    """Return the place of each listed player, and the score of each racer if scores order the leaderboard."""
    if listing.ordering is not None:
        rows = league(ledger, board, listing.ordering).standings
        return {row.id: row.place for row in rows}, {row.id: row.total.score for row in rows}
    return place_of(listed_now(ledger, board, listing)), {}


def _note(seed: Seed, listed: int, standing: Standing | None, listing: Listing, level: str) -> Iterator[str]:
    if seed.place is not None:
        yield f"place {seed.place} of {listed}"
    elif listing.ordering is not None:
        yield "no scored race"
    elif standing is not None and standing.finishes < listing.minimum_finishes:
        needed = counted(listing.minimum_finishes, "finish", "finishes")
        yield f"not ranked: {standing.finishes} of {needed} needed"
    else:
        yield "not listed: inactive"
    if level:
        yield f"level with the seed above, so {level}"
    if seed.score is not None:
        yield f"score {seed.score:.3f}"
    if seed.points is not None:
        yield f"{integer(seed.points)} points after {counted(seed.races, 'race')}"


def tournament_report(ledger: Ledger, board: Leaderboard, listing: Listing) -> Iterator[ReportRow]:
    """Yield the rows of a leaderboard's report. Hidden names are masked, with the reasons beside them."""
    for seed in seed_list(ledger, board, listing).seeds:
        numbers: dict[str, Any] = {"place": seed.place, "score": seed.score, "points": seed.points}
        yield ReportRow(kind="standing", player=seed.name, note=seed.note, **numbers)
    identity = board.category, board.name
    closed = (event for event in ledger.events.all() if event.closed_at)
    about = {event.name for event in closed if (event.category, event.leaderboard) == identity}
    early = ledger.orders.under(OrderKind.SKIP) if board.rule.finished else ()
    about |= {e for e in early if e.startswith(f"{board.category}/") and not ledger.races.has(e)}
    for stored in ledger.races.of(board):
        result, ended_at = ledger.people.masked(stored.result), stored.result.ended_at
        about.add(result.name)
        race = scored(board, stored.result, listing.scoring, stored.note)
        par = None if race is None else race.par
        until = f"preliminary until {par.preliminary_until} finish" if par and par.preliminary_until else ""
        note, time = stored.note or until, timer(par.time) if par else ""
        yield ReportRow(kind="race", race=result.name, at=ended_at, time=time, note=note)
        place_of = places(result, TeamPolicy(board.teams))
        for each, name in shown_names(sorted(result.entrants, key=lambda e: place_of.get(e) or 9999)).items():
            own = race and race.scores.get(each.user_id or "")
            reason = f"{gap(each.penalty / 1e6)}: {each.penalty_reason or ''}" if each.penalty else ""
            yield ReportRow(
                kind="result",
                place=place_of.get(each),
                player=name,
                race=result.name,
                time="" if each.seconds is None else timer(each.seconds),
                score=own.score if own else None,
                note=reason or ("" if each.finished else result_label(each.status, None)),
            )
    people = ledger.people
    for order in (each for each in ledger.orders.all() if each.subject in about):
        target, is_player = people.account(order.target or ""), order.kind in ORDERS_OF_PLAYERS
        what = gap(order.amount / 1e6) if order.amount is not None else "" if is_player else target
        words = [f"{order.kind} {what}".strip(), "" if people.is_hidden(target) else order.reason]
        player = people.names([target])[target] if is_player else ""
        note = ": ".join(filter(None, words))
        yield ReportRow(kind="order", player=player, race=order.subject, at=order.given_at, note=note)
