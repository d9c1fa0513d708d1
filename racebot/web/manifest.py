"""List the files of an export, each with a token that changes whenever its content may have changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path

import racebot
from racebot.queries.race import event_reports
from racebot.queries.races import RaceDigest, race_digests
from racebot.web.html import player as player_pages, templating
from racebot.web.html.leaderboard import older_race_pages, race_span
from racebot.web.routes import CONTENT, SERVED
from racebot.web.site import addresses
from racebot.web.site.addresses import Route, segment
from racebot.web.site.ledger_view import Board, LedgerView

PROGRAM = Path(racebot.__file__).parent
"""The installed program. Any of its modules may shape a page, so a change of one renders all pages again."""
_FRONT = {addresses.FRONT, addresses.ALL_DATA, addresses.FRONT_CARD, addresses.SEARCH_INDEX}
"""Files that depend on all leaderboards."""


def export_tokens(view: LedgerView) -> dict[str, str]:
    """Return the token of every file of an export, by path."""
    publication = view.publication
    cards = {addresses.PLAYER_CARD, addresses.YEAR_CARD, addresses.RACE_CARD}
    left_out = SERVED if publication.export_cards else SERVED | cards
    routes: dict[tuple[str, ...], list[Route]] = defaultdict(list)
    for route in CONTENT.keys() - left_out:
        routes[route.fields].append(route)
    settings = [getattr(publication, each.name) for each in fields(publication) if each.name != "listing"]
    program = _token(racebot.__version__, *_texts(), repr(settings))
    names = {
        player: f"{each.name}\0{view.pictures.get(player)}" for player, each in view.rated_players.items()
    }
    profiles = {player: repr(each) for player, each in view.ledger.profiles.all().items()}
    tokens: dict[str, str] = {}
    races: dict[str, int] = defaultdict(int)
    players: dict[str, list[str]] = defaultdict(list)
    numbered: dict[str, dict[str, str]] = defaultdict(dict)
    front = [program, repr(names), str(bool(view.ledger.events.all()))]
    for board in view.boards:
        digests = race_digests(view.ledger, board.key, names)
        siblings = [(each.name, each.address) for each in view.siblings(board)]
        category = view.category_face(board.category)
        # A race changes the scores of all.
        scored = sum(each.value for each in digests) if board.listing.scoring else None
        facts = (board.stored, board.address, board.listing, siblings, category, scored, board.final_since)
        own = _token(program, repr(facts))
        listed = {each.id: each for each in view.report(board).players}
        raced: dict[str, list[RaceDigest]] = defaultdict(list)
        for digest in digests:
            races[digest.race] += int(own, 16) + digest.value
            for player in digest.players:
                raced[player].append(digest)
        of_players = {
            player: _token(
                own,
                str(sum(digest.value for digest in theirs)),
                names.get(player, ""),
                profiles.get(player, ""),
                str(player in listed),
            )
            for player, theirs in raced.items()
            if player not in view.hidden
        }
        places = [
            (each.id, each.place, each.points, names.get(each.id), profiles.get(each.id))
            for each in listed.values()
        ]
        everything = _token(own, repr(places), *(str(digest.value) for digest in digests))
        front.append(everything)
        without = set() if board.listing.scoring else {addresses.SCORES_CSV, addresses.SCORES_DATA}
        without |= set() if board.final_since else {addresses.RECAP, addresses.RECAP_CARD}
        of_board = (board.address.of(route) for route in routes["board",] if route not in without)
        tokens |= dict.fromkeys(of_board, everything)
        tokens[board.address.races()] = everything
        tokens.update(_board_parts(view, board, own, digests, of_players))
        for player, token in of_players.items():
            players[player].append(token)
            for route in routes["board", "player"]:
                tokens[route.path(player=player, board=board.address.stem)] = token
            more = dict.fromkeys(_more_of_player(board, player, raced[player]), token)
            numbered[player] |= more
            tokens |= more
    theme = [templating.THEME] if publication.branding.theme else []
    assets = [path for path in templating.ASSETS if path not in templating.SERVED_ASSETS]
    pictures = (
        route.path(picture=name)
        for route in (addresses.PICTURE, addresses.SMALL_PICTURE)
        for name in view.pictures_shown
    )
    tokens |= dict.fromkeys((*assets, *theme, *pictures), program)
    for route in routes[()]:
        tokens[route.path()] = _token(*front) if route in _FRONT else program
    tokens[addresses.COMPARE.path()] = _token(
        program, repr([(each.name, each.address) for each in view.boards])
    )
    events = event_reports(view.ledger)
    tokens[addresses.EVENTS.path()] = _token(program, repr(events))
    for report in events:
        path = addresses.EVENT.path(event=report.event.name)
        tokens[path] = _token(program, repr(report), str(report.event.name in races))
    for player, each in players.items():
        token = _token(profiles.get(player, ""), *each)
        tokens |= {route.path(player=player): token for route in routes["player",]}
        for board in view.boards:  # these pages show the player's other leaderboards
            path = board.address.player(player)
            if path in tokens:
                tokens[path] += f"-{token}"
    for old, kept in view.merged.items():
        for board in view.boards:
            for route in (*routes["board", "player"], *routes["player",]):
                path = route.path(player=kept, board=board.address.stem)
                if path in tokens:
                    tokens.setdefault(route.path(player=old, board=board.address.stem), tokens[path])
        for path, token in numbered[kept].items():
            tokens.setdefault(path.replace(f"/{segment(kept)}/", f"/{segment(old)}/", 1), token)
    for race, number in races.items():
        tokens |= {route.path(race=race): f"{number:x}" for route in routes["race",]}
    return tokens


def _board_parts(
    view: LedgerView, board: Board, own: str, digests: list[RaceDigest], of_players: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the later pages of a leaderboard and its older races, which depend only on what they list."""
    players, size = view.report(board).players, addresses.PAGE_SIZE
    for number in range(2, -(-len(players) // size) + 1):
        rows = [
            repr((each.id, each.place, each.points, each.moved, each.provisional, each.last_race_at))
            + of_players.get(each.id, each.name)
            for each in players[(number - 1) * size : number * size]
        ]
        yield board.address.page(number), _token(own, str(len(players)), *rows)
    older = older_race_pages(len(digests))
    for number in range(1, older + 1):
        first, last = race_span(len(digests), number)
        values = (str(digest.value) for digest in digests[first - 1 : last])
        yield board.address.races(number), _token(own, str(older), *values)


def _more_of_player(board: Board, player: str, raced: Sequence[RaceDigest]) -> Iterator[str]:
    """Yield the pages that only players with many races or opponents have on a leaderboard."""
    if len(raced) > player_pages.LAST_RACES:
        for number in (None, *range(1, older_race_pages(len(raced)) + 1)):
            yield board.address.player_races(player, number)
    opponents = len(set().union(*(digest.players for digest in raced))) - 1
    if opponents > addresses.OPPONENTS_SHOWN:
        for number in range(1, player_pages.opponent_pages(opponents) + 1):
            yield board.address.opponents(player, number)


def _texts() -> Iterator[str]:
    for path in sorted(PROGRAM.rglob("*")):
        if path.suffix in {".py", ".html", ".xml", ".css", ".js", ".svg"}:
            yield path.name
            yield path.read_text(encoding="utf-8")


def _token(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
