"""List the files of an export, each with a token that changes whenever its content may have changed.

docs/pages.md lists the data that each page depends on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable

from racebot import __version__
from racebot.ledger.history import RaceDigest
from racebot.web import addresses, templating
from racebot.web.pages import older_race_pages, race_span
from racebot.web.view import Board, View


@dataclass(frozen=True, slots=True)
class File:
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
    """The tokens of one leaderboard: for its settings, its whole content, each race and each player."""

    settings: str
    everything: str
    races: dict[str, str]
    players: dict[str, str]


def files(view: View) -> Iterator[File]:
    """Yield every file of an export. A page is followed by its data file."""
    publication = view.publication
    program = _token(
        __version__,
        _sources(),
        repr((publication.provisional_races, publication.site, publication.url, publication.export_cards)),
    )
    names = {player.id: player.name for player in view.ledger.pages.players()}
    races: dict[str, list[str]] = defaultdict(list)
    players: dict[str, list[str]] = defaultdict(list)
    everything = []
    board_files: list[File] = []
    on_boards: list[tuple[Board, _BoardTokens]] = []
    for board in view.boards:
        digests = view.ledger.pages.race_digests(board.key, names)
        tokens = _board_tokens(view, board, digests, program, names)
        everything.append(tokens.everything)
        on_boards.append((board, tokens))
        board_files += _board_files(view, board, digests, tokens)
        for race, token in tokens.races.items():
            races[race].append(token)
        for player, token in tokens.players.items():
            players[player].append(token)

    assets = [path for path in templating.ASSETS if path not in templating.SERVED_ASSETS]
    fixed = (addresses.NOT_FOUND, addresses.API, addresses.API_DATA, addresses.OPENAPI)
    for path in (*(route.path() for route in fixed), addresses.NO_JEKYLL, *assets):
        yield File(path, program)
    for path in (addresses.FRONT.path(), addresses.ALL_DATA.path(), addresses.FRONT_CARD.path()):
        yield File(path, _token(program, *everything))
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
    for player, each in players.items():
        token = _token(*each)
        yield File(addresses.PLAYER.path(player=player), token)
        yield File(addresses.PLAYER_DATA.path(player=player), token)
    for race, each in races.items():
        token = _token(*each)
        yield File(addresses.RACE.path(race=race), token)
        yield File(addresses.RACE_DATA.path(race=race), token)
        if publication.export_cards:
            yield File(addresses.RACE_CARD.path(race=race), token)


def _board_tokens(
    view: View, board: Board, digests: list[RaceDigest], program: str, names: dict[str, str]
) -> _BoardTokens:
    settings = _token(program, repr((board.stored, board.address, board.listing)))
    listed = {player.id for player in view.report(board).players}
    places = [(player.id, player.place, player.points, player.name) for player in view.report(board).players]
    raced: dict[str, int] = defaultdict(int)
    for digest in digests:
        for player in digest.players:
            raced[player] += digest.value
    return _BoardTokens(
        settings=settings,
        everything=_token(settings, repr(places), *(str(digest.value) for digest in digests)),
        races={digest.race: _token(settings, str(digest.value)) for digest in digests},
        players={
            player: _token(settings, str(value), names.get(player, ""), str(player in listed))
            for player, value in raced.items()
        },
    )


def _board_files(view: View, board: Board, digests: list[RaceDigest], tokens: _BoardTokens) -> Iterator[File]:
    address = board.address
    listed = len(view.report(board).players)
    pages = [address.page(number + 1) for number in range(max(1, -(-listed // addresses.PAGE_SIZE)))]
    for path in (
        *pages,
        address.races(),
        address.explained,
        address.data,
        address.races_data,
        address.sheet,
        addresses.BOARD_FEED.path(board=address.stem),
        addresses.EMBED.path(board=address.stem),
        addresses.BOARD_CARD.path(board=address.stem),
    ):
        yield File(path, tokens.everything)
    log = ChangeLog(board, tokens.settings, digests)
    yield File(address.changes_sheet, log.token(), log)
    older = older_race_pages(len(digests))
    for number in range(1, older + 1):
        first, last = race_span(len(digests), number)
        values = (str(digest.value) for digest in digests[first - 1 : last])
        yield File(address.races(number), _token(tokens.settings, str(older), *values))


@cache
def _sources() -> str:
    """Return a token of the code, templates and assets behind the pages."""
    return _token(*(f"{name} {body}" for name, body in _texts(resources.files("racebot.web"))))


def _texts(folder: Traversable) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith((".py", ".html", ".css", ".js")):
            yield entry.name, entry.read_text(encoding="utf-8")


def _token(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
