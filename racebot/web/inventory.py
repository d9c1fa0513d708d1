"""List the files of an export, each with a token that changes whenever its content may have changed.

docs/pages.md lists the data that each page depends on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from racebot import __version__
from racebot.ledger.history import RaceDigest
from racebot.standings.queries import ListedPlayer, ListedPlayers
from racebot.web import addresses, templating
from racebot.web.listing_page import older_race_pages, race_span
from racebot.web.look import THEME
from racebot.web.player_pages import has_opponents_page, has_race_pages, opponent_pages
from racebot.web.view import Board, View


class File(NamedTuple):
    """A file of an export. As long as its token stays the same, so does its content.

    Attributes:
        path: path from the root of the export.
        token: hash of everything that the content depends on.
        log: set for append-only lists of changes, which later exports can extend.
    """

    path: str
    token: str
    log: ChangeLog | None = None


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """The races in a file of rating changes, in order."""

    board: Board
    settings: str
    digests: Sequence[RaceDigest]

    def token(self, count: int | None = None) -> str:
        """Return the token of a file with the first `count` races, or with all of them."""
        chosen = self.digests[:count]
        return f"{_token(self.settings, *(str(digest.value) for digest in chosen))}-{len(chosen)}"

    def listed_by(self, token: str) -> int | None:
        """Return the last sequence number of a file with an older token, or None to rewrite the file."""
        count = token.rpartition("-")[2]
        if (
            not count.isdecimal()
            or not 0 < int(count) <= len(self.digests)
            or token != self.token(int(count))
        ):
            return None
        return self.digests[int(count) - 1].sequence


@dataclass(frozen=True, slots=True)
class _BoardTokens:
    """The tokens of one leaderboard: for its settings, its whole content, each race and each player.

    `race_counts` and `opponent_counts` are the numbers of each player's races and opponents.
    """

    settings: str
    everything: str
    races: dict[str, str]
    players: dict[str, str]
    race_counts: Mapping[str, int]
    opponent_counts: Mapping[str, int]


def files(view: View) -> Iterator[File]:
    """Yield every file of an export. A page is followed by its data file."""
    publication = view.publication
    program = _token(
        __version__,
        _sources(),
        repr(
            (
                publication.provisional_races,
                publication.site,
                publication.url,
                publication.export_cards,
                publication.look,
            )
        ),
    )
    names = {
        player: f"{each.name}\0{view.pictures.get(player)}" for player, each in view.rated_players.items()
    }
    profiles = {player: repr(each) for player, each in view.ledger.profiles.all().items()}
    races: dict[str, list[str]] = defaultdict(list)
    players: dict[str, list[str]] = defaultdict(list)
    everything = []
    board_files: list[File] = []
    on_boards: list[tuple[Board, _BoardTokens]] = []
    for board in view.boards:
        digests = view.ledger.pages.race_digests(board.key, names)
        tokens = _board_tokens(view, board, digests, program, names, profiles)
        everything.append(tokens.everything)
        on_boards.append((board, tokens))
        board_files += _board_files(view, board, digests, tokens)
        for race, token in tokens.races.items():
            races[race].append(token)
        for player, token in tokens.players.items():
            players[player].append(token)

    assets = [path for path in templating.ASSETS if path not in templating.SERVED_ASSETS]
    fixed = (
        addresses.NOT_FOUND,
        addresses.API,
        addresses.API_DATA,
        addresses.OPENAPI,
        addresses.SEARCH,
    )
    theme = (THEME,) if publication.look.accent else ()
    for path in (*(route.path() for route in fixed), addresses.NO_JEKYLL, *assets, *theme):
        yield File(path, program)
    boards = repr(
        [(board.name, board.address, view.category_face(board.category).name) for board in view.boards]
    )
    yield File(addresses.COMPARE.path(), _token(program, boards))
    for name in view.pictures_shown:
        yield File(addresses.PICTURE.path(picture=name), program)
    for path in (
        addresses.FRONT.path(),
        addresses.ALL_DATA.path(),
        addresses.FRONT_CARD.path(),
        addresses.SEARCH_INDEX.path(),
    ):
        yield File(path, _token(program, repr(names), *everything))
    yield from board_files
    for board, tokens in on_boards:
        for player in tokens.players:
            token = _token(tokens.players[player], str(len(players[player])))
            yield File(board.address.player(player), token)
            yield File(board.address.player_data(player), token)
            yield File(addresses.PLAYER_FEED.path(player=player, board=board.address.stem), token)
            yield File(addresses.BADGE.path(player=player, board=board.address.stem), token)
            if publication.export_cards:
                yield File(addresses.PLAYER_CARD.path(player=player, board=board.address.stem), token)
            yield from _more_of_player(board, player, tokens, token)
    for player, each in players.items():
        token = _token(profiles.get(player, ""), *each)
        yield File(addresses.PLAYER.path(player=player), token)
        yield File(addresses.PLAYER_DATA.path(player=player), token)
    for race, each in races.items():
        token = _token(*each)
        yield File(addresses.RACE.path(race=race), token)
        yield File(addresses.RACE_DATA.path(race=race), token)
        if publication.export_cards:
            yield File(addresses.RACE_CARD.path(race=race), token)


def _board_tokens(
    view: View,
    board: Board,
    digests: list[RaceDigest],
    program: str,
    names: dict[str, str],
    profiles: Mapping[str, str],
) -> _BoardTokens:
    siblings = [(each.name, each.address) for each in view.siblings(board)]
    category = view.category_face(board.category)
    settings = _token(program, repr((board.stored, board.address, board.listing, siblings, category)))
    players = view.report(board).players
    assert isinstance(players, ListedPlayers)  # noqa: S101 - as View.report returns
    players.keep()
    listed = {player.id for player in players}
    places = [(player.id, player.place, player.points, names.get(player.id)) for player in players]
    raced: dict[str, list[RaceDigest]] = defaultdict(list)
    for digest in digests:
        for player in digest.players:
            raced[player].append(digest)
    return _BoardTokens(
        settings=settings,
        everything=_token(settings, repr(places), *(str(digest.value) for digest in digests)),
        races={digest.race: _token(settings, str(digest.value)) for digest in digests},
        players={
            player: _token(
                settings,
                str(sum(digest.value for digest in races)),
                names.get(player, ""),
                profiles.get(player, ""),
                str(player in listed),
            )
            for player, races in raced.items()
            if player not in view.hidden
        },
        race_counts={player: len(races) for player, races in raced.items()},
        opponent_counts={
            player: len(set().union(*(digest.players for digest in races))) - 1
            for player, races in raced.items()
        },
    )


def _board_files(view: View, board: Board, digests: list[RaceDigest], tokens: _BoardTokens) -> Iterator[File]:
    address = board.address
    for path in (
        address.page(),
        address.races(),
        address.explained,
        address.fame,
        address.data,
        address.races_data,
        address.sheet,
        addresses.BOARD_FEED.path(board=address.stem),
        addresses.EMBED.path(board=address.stem),
        addresses.BOARD_CARD.path(board=address.stem),
    ):
        yield File(path, tokens.everything)
    players = view.report(board).players
    size = addresses.PAGE_SIZE
    for number in range(2, -(-len(players) // size) + 1):
        rows = (_row(view, player) for player in players[(number - 1) * size : number * size])
        yield File(address.page(number), _token(tokens.settings, str(len(players)), *rows))
    log = ChangeLog(board, tokens.settings, digests)
    yield File(address.changes_sheet, log.token(), log)
    older = older_race_pages(len(digests))
    for number in range(1, older + 1):
        first, last = race_span(len(digests), number)
        values = (str(digest.value) for digest in digests[first - 1 : last])
        yield File(address.races(number), _token(tokens.settings, str(older), *values))


def _row(view: View, player: ListedPlayer) -> str:
    """Return what a leaderboard shows about a player, without the last results: only races change those."""
    picture = view.pictures.get(player.id)
    shown = (player.place, player.points, player.moved, player.races, player.finishes, player.wins)
    return repr((player.id, player.name, picture, player.provisional, player.last_race_at, *shown))


def _more_of_player(board: Board, player: str, tokens: _BoardTokens, token: str) -> Iterator[File]:
    """Yield the pages of a player's races and opponents. Only players with many of them have these pages."""
    races = tokens.race_counts[player]
    if has_race_pages(races):
        yield File(board.address.player_races(player), token)
        for number in range(1, older_race_pages(races) + 1):
            yield File(board.address.player_races(player, number), token)
    if has_opponents_page(tokens.opponent_counts[player]):
        for number in range(1, opponent_pages(tokens.opponent_counts[player]) + 1):
            yield File(board.address.opponents(player, number), token)


@cache
def _sources() -> str:
    """Return a token of the code, templates and assets behind the pages."""
    return _token(*(f"{name} {body}" for name, body in _texts(resources.files("racebot.web"))))


def _texts(folder: Traversable) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith((".py", ".html", ".css", ".js", ".svg")):
            yield entry.name, entry.read_text(encoding="utf-8")


def _token(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
