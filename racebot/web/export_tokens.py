"""What each file of an export depends on, as a token: if that stays, the file need not be rendered again."""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path

import racebot
from racebot import addresses
from racebot.addresses import Route
from racebot.errors import in_words
from racebot.queries.race import EventReport, event_reports
from racebot.queries.races import RaceDigest, race_digests
from racebot.web.html import player as player_pages, templating
from racebot.web.html.leaderboard import older_race_pages, race_span, waiting
from racebot.web.routes import CONTENT
from racebot.web.site.ledger_view import Board, LedgerView

PROGRAM = Path(racebot.__file__).parent
"""The installed program. Any of its modules may shape a page, so a change of one renders all pages again."""
SHAPING = {".py", ".html", ".xml", ".css", ".js", ".svg"}
_FRONT = {addresses.FRONT, addresses.ALL_DATA, addresses.FRONT_CARD, addresses.SEARCH_INDEX}
_FRONT |= {addresses.EVENTS, addresses.EVENTS_DATA}
"""Files that depend on all leaderboards or events."""


def export_tokens(view: LedgerView, failed: list[str]) -> dict[str, str]:
    """Return the token of every file of an export, by path. Adds to `failed` what cannot be read."""
    tokens = _Tokens(view)
    events: Sequence[EventReport] = ()
    with noted(failed, "events"):
        events = event_reports(view.ledger)
    shown = [events, tokens.add_planned()]
    for board in view.boards:
        with noted(failed, f"the leaderboard {board.name}"):
            shown.append(tokens.add_leaderboard(board, failed))
    tokens.add_front(shown)
    tokens.add_events(events)
    tokens.add_players()
    tokens.add_merged_players()
    tokens.add_races()
    return tokens.of


@contextmanager
def noted(failed: list[str], what: str) -> Iterator[None]:
    """Note an error, other than of the disk, as that of a file or of a part of the ledger."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        failed.append(f"{what}: {in_words(error)}")


class _Tokens:
    """Tokens by the path of a file. Each kind of pages adds its own; `of` holds all so far."""

    def __init__(self, view: LedgerView) -> None:
        self._view, self.of = view, dict[str, str]()
        publication, cards = view.publication, {addresses.PLAYER_CARD, addresses.RACE_CARD}
        self._routes = defaultdict[tuple[str, ...], list[Route]](list)
        for route in CONTENT:
            if not route.served_only and (publication.export_cards or route not in cards):
                self._routes[route.fields].append(route)
        apart = {"listing", "planned"}
        settings = [getattr(publication, each.name) for each in fields(publication) if each.name not in apart]
        texts = (path for path in sorted(PROGRAM.rglob("*")) if path.suffix in SHAPING)
        sources = (each.name + each.read_text("utf-8") for each in texts)
        self._program = _token(racebot.__version__, *sources, settings)
        self._names = {id_: (each.name, view.pictures.get(id_)) for id_, each in view.rated_players.items()}
        self._profiles = view.ledger.profiles.all()
        self._races = defaultdict[str, int](int)  # sums of digests, over leaderboards
        self._players = defaultdict[str, list[str]](list)  # a token for each leaderboard

    def _put(self, token: str, **values: str) -> None:
        """Set the token of all files whose addresses have just these fields."""
        self.of.update((route.path(**values), token) for route in self._routes[tuple(sorted(values))])

    def add_planned(self) -> object:
        """Add the pages of leaderboards without races, and return what the front page shows of them."""
        planned = self._view.planned()
        for each in planned:
            self.of[each.address.page()] = _token(self._program, each.stored, each.listing)
        return [each.stored for each in planned]

    def add_leaderboard(self, board: Board, failed: list[str]) -> str:
        """Add the files of a leaderboard, and return the token of all it shows."""
        view, address = self._view, board.address
        digests = race_digests(view.ledger, board.key, self._names)
        siblings = [(each.name, each.address) for each in view.siblings(board)]
        # A race changes the scores of all.
        scored = sum(each.value for each in digests) if board.listing.scoring else None
        shown = siblings, view.category_face(board.category), scored, board.final_since
        own = _token(self._program, board.stored, address, board.listing, *shown)
        places: dict[str, object] = {}
        with noted(failed, f"the standings of {board.name}"):
            listed = view.report(board).players
            places = {row.player: (listed.places[row.rating], row.points) for row in listed.rows}
        values = [digest.value for digest in digests]
        about = {player: (self._names.get(player), self._profiles.get(player)) for player in places}
        beside = view.events(board), waiting(view, board)
        everything = _token(own, places, about, *beside, values)
        self._put(everything, board=address.stem)
        for absent in _absent(board):
            del self.of[address.of(absent)]
        for number in range(2, -(-len(places) // addresses.PAGE_SIZE) + 1):
            self.of[address.page(number)] = everything
        self.of[address.of(addresses.RACES)] = everything
        older = older_race_pages(len(digests))
        for number in range(1, older + 1):
            first, last = race_span(len(digests), number)
            self.of[address.of(addresses.RACES, number=number)] = _token(own, older, values[first - 1 : last])
        self._note_races(own, digests)
        self._add_players_of(board, own, digests, places.keys())
        return everything

    def _note_races(self, own: str, digests: Sequence[RaceDigest]) -> None:
        """Note what pages of races show of one leaderboard, with the races beside each."""
        for digest, *near in zip(digests, [None, *digests[:-1]], [*digests[1:], None], strict=True):
            neighbors = _token(*(each and each.race for each in near))
            self._races[digest.race] += int(own, 16) + digest.value + int(neighbors, 16)

    def _add_players_of(
        self, board: Board, own: str, digests: Sequence[RaceDigest], placed: Set[str]
    ) -> None:
        raced = defaultdict[str, list[RaceDigest]](list)
        for digest in digests:
            for player in digest.players:
                raced[player].append(digest)
        for player in raced.keys() & self._names.keys():
            value = sum(digest.value for digest in raced[player])
            about = self._names[player], self._profiles.get(player)
            token = _token(own, value, *about, player in placed)
            self._players[player].append(token)
            self._put(token, player=player, board=board.address.stem)
            self.of |= dict.fromkeys(_more_of_player(board, player, raced[player]), token)

    def add_front(self, shown: Sequence[object]) -> None:
        """Add pages of all leaderboards and of each category, and files that depend on the program only."""
        front = _token(self._program, self._names, *shown)
        theme = [templating.THEME] if self._view.publication.theme else []
        self.of |= dict.fromkeys((*templating.ASSETS, *theme), self._program)
        for name in self._view.pictures_shown:
            self._put(self._program, picture=name)
        for route in self._routes[()]:
            self.of[route.path()] = front if route in _FRONT else self._program
        for board in self._view.boards:
            self._put(front, category=board.category)

    def add_events(self, events: Sequence[EventReport]) -> None:
        """Add the pages of events, which lead to their races; these list all results of the event."""
        for report in events:
            name, token = report.event.name, _token(self._program, report)
            self._put(f"{token}-{name in self._races}", event=name)
            if name in self._races:
                self._races[name] += int(token, 16)

    def add_players(self) -> None:
        """Add the pages of players, and what their pages on one leaderboard show of the others."""
        for player, each in self._players.items():
            token = _token(self._profiles.get(player), each)
            self._put(token, player=player)
            for board in self._view.boards:
                if (path := board.address.player(player)) in self.of:
                    self.of[path] += f"-{token}"

    def add_merged_players(self) -> None:
        """Add the old addresses of merged accounts."""
        routes = *self._routes["board", "player"], *self._routes["player",]
        for old, kept in self._view.merged.items():
            for board in self._view.boards:
                for route in routes:
                    path, stem = route.path(player=kept, board=board.address.stem), board.address.stem
                    if path in self.of:
                        self.of.setdefault(route.path(player=old, board=stem), self.of[path])

    def add_races(self) -> None:
        """Add the pages of races, which show each on all leaderboards."""
        for race, number in self._races.items():
            self._put(f"{number:x}", race=race)


def _absent(board: Board) -> Iterator[Route]:
    """Yield the pages and files that a leaderboard does not have."""
    if not board.listing.scoring:
        yield from (addresses.SCORES_CSV, addresses.SCORES_DATA)
    if not board.listing.ordering:
        yield addresses.RATINGS
    if not board.final_since:
        yield addresses.RECAP


def _more_of_player(board: Board, player: str, raced: Sequence[RaceDigest]) -> Iterator[str]:
    """Yield the pages that only players with many races or opponents have on a leaderboard."""
    if len(raced) > player_pages.LAST_RACES:
        for number in (None, *range(1, older_race_pages(len(raced)) + 1)):
            yield board.address.of(addresses.PLAYER_RACES, player=player, number=number)
    opponents = len(set().union(*(digest.players for digest in raced))) - 1
    if opponents > addresses.OPPONENTS_SHOWN:
        for number in range(1, player_pages.opponent_pages(opponents) + 1):
            yield board.address.opponents(player, number)


def _token(*parts: object) -> str:
    return blake2b(repr(parts).encode(errors="replace"), digest_size=8).hexdigest()
