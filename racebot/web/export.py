"""Write the pages to a folder, for a static host or for opening locally.

An export renders the files whose token changed since the last export, and writes those whose content changed,
each one atomically. It removes its own files that are no longer needed and never touches other files.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from filelock import FileLock

import racebot
from racebot import addresses
from racebot.addresses import Route
from racebot.errors import RacebotError, in_words
from racebot.ledger.store import Ledger
from racebot.queries.race import EventReport, event_reports
from racebot.queries.races import RaceDigest, race_digests
from racebot.web.html import player as player_pages, templating
from racebot.web.html.leaderboard import older_race_pages, race_span, waiting
from racebot.web.routes import CONTENT, Pages
from racebot.web.site.ledger_view import Board, Document, LedgerView, Publication

MANIFEST = ".racebot-pages"  # manifest of the last export: a line for each file, with its path and token
LOCK = f"{MANIFEST}.lock"  # empty file that an export locks while it writes
PROGRAM = Path(racebot.__file__).parent
"""The installed program. Any of its modules may shape a page, so a change of one renders all pages again."""
SHAPING = {".py", ".html", ".xml", ".css", ".js", ".svg"}
_FRONT = {addresses.FRONT, addresses.ALL_DATA, addresses.FRONT_CARD, addresses.SEARCH_INDEX}
_FRONT |= {addresses.EVENTS, addresses.EVENTS_DATA}
"""Files that depend on all leaderboards or events."""


class Exported(NamedTuple):
    """How many files an export wrote, left unchanged and removed, and the errors of those not made."""

    written: int
    unchanged: int
    removed: int
    failed: Sequence[str] = ()


def export(
    ledger: Ledger, publication: Publication, folder: Path, *, now: datetime | None = None
) -> Exported:
    """Write all pages whose data changed to a folder, which is created if it does not exist.

    What cannot be made, for instance from a damaged row, stays as it was, and the rest is written.
    `now`, which is the current time by default, decides which seasons are final.

    Raises:
        RacebotError: the folder cannot be written, or holds the ledger.
        LedgerError: the ledger cannot be read.
    """
    if folder.resolve() in ledger.path.resolve().parents:
        raise RacebotError(
            f"{folder} holds the database {ledger.path}, which must stay private: choose another folder"
        )
    try:
        _make(folder)
        with FileLock(folder / LOCK, mode=0o644, fallback_to_soft=False):
            return _export(ledger, publication, folder, now)
    except OSError as error:
        raise RacebotError(
            f"cannot write the pages into {folder}: {error.strerror or error}: check the folder and its disk"
        ) from None


def _export(ledger: Ledger, publication: Publication, folder: Path, now: datetime | None) -> Exported:
    before = _manifest(folder)
    with Ledger.open_to_publish(ledger.path) as published, published.snapshot():
        view = LedgerView(published, publication, now=now)
        failed: list[str] = []
        wanted = export_tokens(view, failed)
        changed = [path for path, token in wanted.items() if before.get(path) != token]
        if not (changed or failed) and len(wanted) == len(before):
            return Exported(0, len(wanted), 0)
        # List old and new files, but no tokens of files about to change. If this export is interrupted, the
        # next one still knows every file and renders these again.
        _write_manifest(folder, before | wanted | dict.fromkeys(changed, ""))
        pages = Pages(view, served=False)
        written = 0
        for path in changed:
            content = None
            with _noted(failed, path):
                content = pages.document(path, {})
            if isinstance(content, Document):
                written += _write(folder / path, content.body)
            else:
                del wanted[path]
    if failed:  # what is gone cannot be told from what could not be made
        wanted = dict.fromkeys(before, "") | wanted
    inside = (path for path in before.keys() - wanted.keys() if ".." not in PurePosixPath(path).parts)
    removed = sum(_remove(folder, path) for path in inside if path and not path.startswith("/"))
    _write_manifest(folder, wanted)
    return Exported(written, len(wanted) - written, removed, tuple(failed))


@contextmanager
def _noted(failed: list[str], what: str) -> Iterator[None]:
    """Note an error, other than of the disk, as that of a file or of a part of the ledger."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        failed.append(f"{what}: {in_words(error)}")


def _write(path: Path, body: bytes) -> bool:
    """Write a file unless it already has this content. Return whether it was written."""
    try:
        if path.stat().st_size == len(body) and path.read_bytes() == body:
            return False
    except FileNotFoundError:
        if not path.parent.exists():
            _make(path.parent)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(body)
    part.chmod(0o644)  # for a web server that runs as another user
    part.replace(path)
    return True


def _make(folder: Path) -> None:
    """Create a folder and its parents, readable by a web server whatever the umask."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        each.chmod(0o755)


def _manifest(folder: Path) -> dict[str, str]:
    """Read the manifest of the last export. A file whose token is missing is rendered again."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {path: token for path, _, token in (line.partition(" ") for line in lines)}


def _write_manifest(folder: Path, tokens: Mapping[str, str]) -> None:
    lines = [f"{path} {token}".rstrip() for path, token in sorted(tokens.items())]
    _write(folder / MANIFEST, "\n".join([*lines, ""]).encode())


def _remove(folder: Path, path: str) -> bool:
    """Remove a file of an earlier export, and any folders left empty."""
    file = folder / path
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    for parent in file.relative_to(folder).parents[:-1]:
        try:
            (folder / parent).rmdir()
        except OSError:
            break  # not empty
    return True


def export_tokens(view: LedgerView, failed: list[str]) -> dict[str, str]:
    """Return the token of every file of an export, by path. Adds to `failed` what cannot be read."""
    publication = view.publication
    cards = {addresses.PLAYER_CARD, addresses.RACE_CARD}
    routes: dict[tuple[str, ...], list[Route]] = defaultdict(list)
    for route in CONTENT:
        if not route.served_only and (publication.export_cards or route not in cards):
            routes[route.fields].append(route)
    tokens: dict[str, str] = {}

    def put(token: str, **values: str) -> None:
        """Set the token of all files whose addresses have just these fields."""
        tokens.update((route.path(**values), token) for route in routes[tuple(sorted(values))])

    apart = {"listing", "planned"}
    settings = [getattr(publication, each.name) for each in fields(publication) if each.name not in apart]
    texts = (path for path in sorted(PROGRAM.rglob("*")) if path.suffix in SHAPING)
    program = _token(racebot.__version__, *(each.name + each.read_text("utf-8") for each in texts), settings)
    names = {player: (each.name, view.pictures.get(player)) for player, each in view.rated_players.items()}
    profiles = view.ledger.profiles.all()
    races: dict[str, int] = defaultdict(int)
    players: dict[str, list[str]] = defaultdict(list)
    planned = view.planned()
    events: Sequence[EventReport] = ()
    with _noted(failed, "events"):
        events = event_reports(view.ledger)
    front = [program, names, events, [each.stored for each in planned]]
    tokens |= {each.address.page(): _token(program, each.stored, each.listing) for each in planned}
    for board in view.boards:
        with _noted(failed, f"the leaderboard {board.name}"):
            digests = race_digests(view.ledger, board.key, names)
            siblings = [(each.name, each.address) for each in view.siblings(board)]
            category = view.category_face(board.category)
            # A race changes the scores of all.
            scored = sum(each.value for each in digests) if board.listing.scoring else None
            shown = siblings, category, scored, board.final_since, waiting(view.ledger, board)
            own = _token(program, board.stored, board.address, board.listing, *shown)
            places: dict[str, object] = {}
            with _noted(failed, f"the standings of {board.name}"):
                listed = view.report(board).players
                places = {row.player: (listed.places[row.rating], row.points) for row in listed.rows}
            raced: dict[str, list[RaceDigest]] = defaultdict(list)
            for digest, *near in zip(digests, [None, *digests[:-1]], [*digests[1:], None], strict=True):
                neighbors = _token(*(each and each.race for each in near))
                races[digest.race] += int(own, 16) + digest.value + int(neighbors, 16)
                for player in digest.players:
                    raced[player].append(digest)
            values = [digest.value for digest in digests]
            about = {player: (names.get(player), profiles.get(player)) for player in places}
            everything = _token(own, places, about, view.events(board), values)
            front.append(everything)
            put(everything, board=board.address.stem)
            for absent in _absent(board):
                del tokens[board.address.of(absent)]
            for number in range(2, -(-len(places) // addresses.PAGE_SIZE) + 1):
                tokens[board.address.page(number)] = everything
            tokens[board.address.of(addresses.RACES)] = everything
            older = older_race_pages(len(digests))
            for number in range(1, older + 1):
                first, last = race_span(len(digests), number)
                page = board.address.of(addresses.RACES, number=number)
                tokens[page] = _token(own, older, values[first - 1 : last])
            for player, theirs in raced.items():
                if player not in names:
                    continue
                value = sum(digest.value for digest in theirs)
                token = _token(own, value, names[player], profiles.get(player), player in places)
                players[player].append(token)
                put(token, player=player, board=board.address.stem)
                tokens |= dict.fromkeys(_more_of_player(board, player, theirs), token)
    theme = [templating.THEME] if publication.theme else []
    tokens |= dict.fromkeys((*templating.ASSETS, *theme), program)
    for name in view.pictures_shown:
        put(program, picture=name)
    for route in routes[()]:
        tokens[route.path()] = _token(*front) if route in _FRONT else program
    for board in view.boards:
        put(_token(*front), category=board.category)
    for report in events:
        put(_token(program, report, report.event.name in races), event=report.event.name)
    for player, each in players.items():
        token = _token(profiles.get(player), each)
        put(token, player=player)
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
    for race, number in races.items():
        put(f"{number:x}", race=race)
    return tokens


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
