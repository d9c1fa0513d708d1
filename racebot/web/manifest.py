"""List the files of an export, with tokens that change whenever their content may have changed.

docs/pages.md lists the data that each page depends on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from racebot import __version__
from racebot.queries.leaderboard import ListedPlayer
from racebot.queries.races import RaceDigest, race_digests
from racebot.web.html import templating
from racebot.web.html.leaderboard import older_race_pages, race_span
from racebot.web.html.player import has_opponents_page, has_race_pages, opponent_pages
from racebot.web.site import addresses
from racebot.web.site.ledger_view import Board, LedgerView, Publication

PROGRAM = resources.files("racebot")
"""The installed program. Any of its modules may shape a page, so a change of one renders all pages again."""


class Group(NamedTuple):
    """Files of an export that depend on the same data. An export compares groups, since files are many.

    Attributes:
        paths: paths of the files from the root of the export.
        token: hash of everything that the files and their number depend on.
        log: set for append-only lists of changes, which later exports can extend.
    """

    paths: Sequence[str]
    token: str
    log: ChangeLog | None = None

    @property
    def first(self) -> str:
        return self.paths[0]


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
    """The tokens of one leaderboard: for its settings, its whole content, and each player.

    `raced` has the races of each player.
    """

    settings: str
    everything: str
    players: dict[str, str]
    raced: Mapping[str, Sequence[RaceDigest]]


def groups(view: LedgerView) -> Iterator[Group]:
    """Yield every file of an export, in groups. Each page is in the same group as its data."""
    publication = view.publication
    program = _token(
        __version__,
        *_texts(PROGRAM),
        repr(
            (
                publication.provisional_races,
                publication.site,
                publication.url,
                publication.export_cards,
                publication.look,
                publication.commands,
            )
        ),
    )
    names = {
        player: f"{each.name}\0{view.pictures.get(player)}" for player, each in view.rated_players.items()
    }
    profiles = {player: repr(each) for player, each in view.ledger.profiles.all().items()}
    races: dict[str, int] = defaultdict(int)
    players: dict[str, list[str]] = defaultdict(list)
    everything = []
    board_groups: list[Group] = []
    on_boards: list[tuple[Board, _BoardTokens]] = []
    for board in view.boards:
        digests = race_digests(view.ledger, board.key, names)
        tokens = _board_tokens(view, board, digests, program, names, profiles)
        everything.append(tokens.everything)
        on_boards.append((board, tokens))
        board_groups += _board_groups(view, board, digests, tokens)
        settings = int(tokens.settings, 16)
        for digest in digests:
            races[digest.race] += settings + digest.value
        for player, token in tokens.players.items():
            players[player].append(token)

    assets = [path for path in templating.ASSETS if path not in templating.SERVED_ASSETS]
    fixed = (
        addresses.NOT_FOUND,
        addresses.NO_JEKYLL,
        addresses.API,
        addresses.API_DATA,
        addresses.FAVICON,
        addresses.OPENAPI,
        addresses.SEARCH,
        addresses.TOUCH_ICON,
    )
    theme = (templating.THEME,) if publication.look.theme else ()
    yield Group([*(route.path() for route in fixed), *assets, *theme], program)
    boards = repr([(board.name, board.address) for board in view.boards])
    yield Group([addresses.COMPARE.path()], _token(program, boards))
    for name in view.pictures_shown:
        yield Group([addresses.PICTURE.path(picture=name)], program)
    fronts = (addresses.FRONT, addresses.ALL_DATA, addresses.FRONT_CARD, addresses.SEARCH_INDEX)
    yield Group([route.path() for route in fronts], _token(program, repr(names), *everything))
    yield from board_groups
    for board, tokens in on_boards:
        for player, token in tokens.players.items():
            paths = list(_player_paths(publication, board, player, tokens.raced[player]))
            yield Group(paths, f"{token}-{len(players[player])}")
    for player, each in players.items():
        token = _token(profiles.get(player, ""), *each)
        yield Group([route.path(player=player) for route in (addresses.PLAYER, addresses.PLAYER_DATA)], token)
    of_races = (addresses.RACE, addresses.RACE_DATA, *[addresses.RACE_CARD] * publication.export_cards)
    for race, number in races.items():
        yield Group([route.path(race=race) for route in of_races], f"{number:x}")


def _board_tokens(
    view: LedgerView,
    board: Board,
    digests: list[RaceDigest],
    program: str,
    names: dict[str, str],
    profiles: Mapping[str, str],
) -> _BoardTokens:
    siblings = [(each.name, each.address) for each in view.siblings(board)]
    category = view.category_face(board.category)
    settings = _token(program, repr((board, siblings, category)))
    players = view.report(board).players[:]
    listed = {player.id for player in players}
    places = [(player.id, player.place, player.points, names.get(player.id)) for player in players]
    raced: dict[str, list[RaceDigest]] = defaultdict(list)
    for digest in digests:
        for player in digest.players:
            raced[player].append(digest)
    return _BoardTokens(
        settings=settings,
        everything=_token(settings, repr(places), *(str(digest.value) for digest in digests)),
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
        raced=raced,
    )


def _board_groups(
    view: LedgerView, board: Board, digests: list[RaceDigest], tokens: _BoardTokens
) -> Iterator[Group]:
    address = board.address
    others = [
        address.of(route)
        for route in (
            addresses.EXPLAINED,
            addresses.FAME,
            addresses.DATA,
            addresses.RACES_DATA,
            addresses.SHEET,
            addresses.BOARD_FEED,
            addresses.EMBED,
            addresses.BOARD_CARD,
        )
    ]
    yield Group([address.page(), address.races(), *others], tokens.everything)
    players = view.report(board).players
    size = addresses.PAGE_SIZE
    for number in range(2, -(-len(players) // size) + 1):
        listed = players[(number - 1) * size : number * size]
        rows = (_row(player) + tokens.players.get(player.id, player.name) for player in listed)
        yield Group([address.page(number)], _token(tokens.settings, str(len(players)), *rows))
    log = ChangeLog(board, tokens.settings, digests)
    yield Group([address.of(addresses.CHANGES_SHEET)], log.token(), log)
    older = older_race_pages(len(digests))
    for number in range(1, older + 1):
        first, last = race_span(len(digests), number)
        values = (str(digest.value) for digest in digests[first - 1 : last])
        yield Group([address.races(number)], _token(tokens.settings, str(older), *values))


def _row(player: ListedPlayer) -> str:
    """Return what a leaderboard shows about a player besides what is in the player's own token."""
    facts = (player.id, player.place, player.points, player.moved, player.provisional, player.last_race_at)
    return repr(facts)


def _player_paths(
    publication: Publication, board: Board, player: str, raced: Sequence[RaceDigest]
) -> Iterator[str]:
    """Yield the files of a player on a leaderboard.

    Only players with many races or opponents have pages of these.
    """
    address = board.address
    yield address.player(player)
    yield address.player_data(player)
    yield addresses.PLAYER_FEED.path(player=player, board=address.stem)
    yield addresses.BADGE.path(player=player, board=address.stem)
    if publication.export_cards:
        yield addresses.PLAYER_CARD.path(player=player, board=address.stem)
    if has_race_pages(len(raced)):
        yield address.player_races(player)
        for number in range(1, older_race_pages(len(raced)) + 1):
            yield address.player_races(player, number)
    opponents = len(set().union(*(digest.players for digest in raced))) - 1
    if has_opponents_page(opponents):
        for number in range(1, opponent_pages(opponents) + 1):
            yield address.opponents(player, number)


def _texts(folder: Traversable) -> Iterator[str]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith((".py", ".html", ".css", ".js", ".svg")):
            yield entry.name
            yield entry.read_text(encoding="utf-8")


def _token(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
