"""Atom feeds of leaderboards and players. Format: https://www.rfc-editor.org/rfc/rfc4287."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from racebot import addresses
from racebot.queries import races as queries
from racebot.queries.player import PlayedRace, PlayerStanding
from racebot.queries.records import podium
from racebot.scoring.table import LeagueStanding, ScoredRace, ScoreTable
from racebot.text.format import integer, ordinal, signed, timer
from racebot.web.html import templating
from racebot.web.html.fragments import places
from racebot.web.site.formats import plain_name, race_title, slug, standing as standing_of, total
from racebot.web.site.ledger_view import ATOM, Board, Content, Document, PageRequest

ENTRIES = 30
RESULTS = 10  # most racers named in the summary of a race
_NEVER = datetime(2000, 1, 1, tzinfo=UTC)  # when a leaderboard without races was updated: a feed must say

Entry = tuple[queries.RaceRow | PlayedRace, str, str]  # A race with its title and what happened in it
Passed = tuple[str, datetime, list[str], str, str]
"""A race with its end, the names of those who passed a player, their results, and the player's number."""
Racers = dict[str, LeagueStanding]


class News(NamedTuple):
    """An entry of a feed that is not a race, with the path of its page."""

    title: str
    summary: str
    at: datetime
    page: str
    kind: str = ""


def board_feed(request: PageRequest, board: Board) -> Content:
    races = queries.latest_races(request.view.ledger, board.key, ENTRIES)
    first = min((race.sequence for race in races), default=1)
    changes: dict[int, list[queries.RatingChange]] = defaultdict(list)
    for change in queries.rating_changes(request.view.ledger, board.key, first - 1):
        changes[change.sequence].append(change)
    moves = _moves(request, board, races)
    said = {race.race: [moves.get(race.race), _results(changes[race.sequence])] for race in races}
    entries = [(race, race_title(race), "; ".join(filter(None, said[race.race]))) for race in races]
    title = plain_name(board.name)
    return _feed(request, board, title, board.address.page(), entries, _final_news(request, board))


def _moves(request: PageRequest, board: Board, races: Sequence[queries.RaceRow]) -> dict[str, str]:
    """Return in words what each race of a league changed in its places: by score if scores order it."""
    view, table = request.view, request.view.league(board)
    if table is None:
        return {}
    named, found = view.rated_players | {each.id: each for each in table.standings}, {}
    scored = {race.result.name: places for race, *places in _tables(request, table)}
    for race in races:
        if board.listing.by_rating:
            moved = places(view, board, race)
        else:
            before, after = scored.get(race.race, ({}, {}))
            moved = {p: (before[p].place if p in before else None, each.place) for p, each in after.items()}
        moves = sorted(
            (new, plain_name(named[player].name, 40), old)
            for player, (old, new) in moved.items()
            if old != new
        )
        texts = (f"{name} {ordinal(old) if old else 'new'} → {ordinal(new)}" for new, name, old in moves)
        found[race.race] = ", ".join(islice(texts, RESULTS))
    return found


def _tables(request: PageRequest, table: ScoreTable) -> Iterator[tuple[ScoredRace, Racers, Racers]]:
    """Yield the last races of a league, each with the racers by id before and after it."""
    before: Racers | None = None
    for end in range(max(0, len(table.races) - ENTRIES), len(table.races) + 1):
        after = {each.id: each for each in table.until(end).standings}
        if before is not None:
            yield table.races[end - 1], before, after
        before = after


def player_feed(request: PageRequest, board: Board, player: str) -> Content:
    standing = request.view.standing(board, player)
    if standing is None:
        return None
    name = plain_name(standing.name)
    history = request.view.history(board, player)[: -ENTRIES - 1 : -1]
    rows = queries.races_numbered(request.view.ledger, board.key, [race.sequence for race in history])
    entries: list[Entry] = []
    for race in history:
        won_by = ", ".join(plain_name(winner.name, 40) for winner in rows[race.sequence].winners)
        outcome = [timer(race.finish_time)] if race.finish_time is not None else []
        outcome += [f"won by {won_by}"] if won_by and race.place != 1 else []
        points = f"{integer(race.before)} → {integer(race.after)} ({signed(race.change)})"
        if scored := request.view.race_scores(board, race.race).get(player):
            points = f"score {scored.score:.1f}"
        change = f"{name}: {points}, {standing_of(race)} in {slug(race.race)}"
        entries.append((race, change, ", ".join(outcome)))
    title = f"{name} on {plain_name(board.name)}"
    # In an export, a player's feed does not follow the races of others.
    passed = _passed(request, board, standing) if request.served else []
    return _feed(request, board, title, board.address.player(player), entries, passed)


def _passed(request: PageRequest, board: Board, standing: PlayerStanding) -> list[News]:
    table = request.view.ordering_league(board)
    passed = _by_score(request, table, standing.id) if table else _by_rating(request, board, standing)
    name, found = plain_name(standing.name), []
    for race, at, names, results, own in passed:
        told = f"{', '.join(names)} passed {name}", f"In {slug(race)}: {results}; {name} {own}"
        found.append(News(*told, at, addresses.RACE.path(race=race), "?passed"))
    return found


def _by_score(request: PageRequest, table: ScoreTable, player: str) -> Iterator[Passed]:
    for race, before, after in _tables(request, table):
        if player in before:
            own, was = after[player], before[player]
            others = [each for each in after.values() if each.id in before and each.place < own.place]
            by = {each.id: each.total.score for each in others if before[each.id].place >= was.place}
            if scores := {plain_name(e.name, 40): by[e.id] for e in table.standings if e.id in by}:
                results = ", ".join(f"{name} {score:.1f}" for name, score in scores.items())
                yield race.result.name, race.result.ended_at, [*scores], results, f"{own.total.score:.1f}"


def _by_rating(request: PageRequest, board: Board, standing: PlayerStanding) -> Iterator[Passed]:
    view, points = request.view, standing.points
    if standing.place is None:
        return
    races = {race.sequence: race for race in queries.latest_races(view.ledger, board.key, ENTRIES)}
    changes = list(queries.rating_changes(view.ledger, board.key, min(races) - 1))
    listed = {row.player for row in view.report(board).players.rows}
    for sequence, race in races.items():
        of_race = [each for each in changes if each.sequence == sequence]
        before = next((each.before for each in of_race if each.player == standing.id), points)
        others = [e for e in of_race if e.races_before and e.player in listed and e.player != standing.id]
        if by := [each for each in others if each.before <= before and each.after > points]:
            names = [plain_name(each.name, 40) for each in by]
            yield race.race, race.ended_at, names, _results(by), integer(points)
        points = before


def _final_news(request: PageRequest, board: Board) -> list[News]:
    if board.final_since is None:
        return []
    view = request.view
    found = podium(view.ledger, board.stored, board.listing, view.report(board).players)
    champions = ", ".join(plain_name(each.player.name, 40) for each in found if each.place == 1)
    title = f"{plain_name(board.name)} is over{f': {champions} won' if champions else ''}"
    places = (f"{each.place} {plain_name(each.player.name, 40)} {total(each)}" for each in found)
    return [News(title, ", ".join(places), board.final_since, board.address.of(addresses.RECAP))]


def _results(changes: Sequence[queries.RatingChange]) -> str:
    """List the changes of a race, as in "1 Ann 1190 (+90), 2 Bo 950 (−50); did not finish: Cy 960 (−40)"."""
    texts = [
        (each.place, f"{plain_name(each.name, 40)} {integer(each.after)} ({signed(each.change)})")
        for each in changes[:RESULTS]
    ]
    parts = [", ".join(f"{place} {text}" for place, text in texts if place is not None)]
    if others := ", ".join(text for place, text in texts if place is None):
        parts.append(f"did not finish: {others}")
    if len(changes) > RESULTS:
        parts.append(f"and {len(changes) - RESULTS} more")
    return "; ".join(filter(None, parts))


def _feed(
    request: PageRequest, board: Board, title: str, page: str, entries: Sequence[Entry], news: Sequence[News]
) -> Document:
    # Some readers skip entries older than the newest they know. A race may be recorded long after it ended.
    updated = queries.corrected_at(request.view.ledger, board.key, [race.sequence for race, _, _ in entries])
    publication = request.view.publication

    def id_of(what: str) -> str:
        """Return an id that stays the same when the pages move to another host."""
        return uuid5(NAMESPACE_URL, f"{publication.site} {what}").urn

    content = templating.render(
        "feed.xml",
        request.path,
        title=title,
        page=page,
        entries=entries,
        news=news,
        updated=updated,
        last=max([*updated.values(), *(each.at for each in news)], default=_NEVER),
        url=publication.url,
        site=publication.site,
        id_of=id_of,
    )
    return Document(content, ATOM)
