"""Write the pages to a folder, for a static host or for opening locally.

An export renders the files whose token changed since the last export, and writes those whose content changed,
each one atomically. It removes its own files that are no longer needed and never touches other files.
"""

from __future__ import annotations

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
from racebot.addresses import Route, segment
from racebot.errors import RacebotError, in_words
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import ListedPlayers
from racebot.queries.race import EventReport, event_reports
from racebot.queries.races import RaceDigest, race_digests
from racebot.web.html import player as player_pages, templating
from racebot.web.html.leaderboard import older_race_pages, race_span, waiting
from racebot.web.routes import CONTENT, Pages
from racebot.web.site.ledger_view import Board, Document, LedgerView, Publication, Streamed

MANIFEST = ".racebot-pages"  # manifest of the last export: a line for each file, with its path and token
LOCK = f"{MANIFEST}.lock"  # empty file that an export locks while it writes
PROGRAM = Path(racebot.__file__).parent
"""The installed program. Any of its modules may shape a page, so a change of one renders all pages again."""
SHAPING = {".py", ".html", ".xml", ".css", ".js", ".svg"}
_FRONT = {addresses.FRONT, addresses.ALL_DATA, addresses.FRONT_CARD, addresses.SEARCH_INDEX}
"""Files that depend on all leaderboards."""


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
                if isinstance(content, Streamed):
                    content = Document(b"".join(content.chunks()))
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
    apart = {"listing", "planned"}
    settings = [getattr(publication, each.name) for each in fields(publication) if each.name not in apart]
    texts = (path for path in sorted(PROGRAM.rglob("*")) if path.suffix in SHAPING)
    program = _token(
        racebot.__version__, *(each.name + each.read_text("utf-8") for each in texts), repr(settings)
    )
    names = {
        player: f"{each.name}\0{view.pictures.get(player)}" for player, each in view.rated_players.items()
    }
    profiles = {player: repr(each) for player, each in view.ledger.profiles.all().items()}
    tokens: dict[str, str] = {}
    races: dict[str, int] = defaultdict(int)
    players: dict[str, list[str]] = defaultdict(list)
    numbered: dict[str, dict[str, str]] = defaultdict(dict)
    planned = view.planned()
    front = [
        program,
        repr(names),
        str(bool(view.ledger.events.all())),
        repr([each.stored for each in planned]),
    ]
    tokens |= {each.address.page(): _token(program, repr((each.stored, each.listing))) for each in planned}
    for board in view.boards:
        with _noted(failed, f"the leaderboard {board.name}"):
            digests = race_digests(view.ledger, board.key, names)
            siblings = [(each.name, each.address) for each in view.siblings(board)]
            category = view.category_face(board.category)
            # A race changes the scores of all.
            scored = sum(each.value for each in digests) if board.listing.scoring else None
            shown = (siblings, category, scored, board.final_since, waiting(view.ledger, board))
            own = _token(program, repr((board.stored, board.address, board.listing, *shown)))
            listed, ids, places = None, set[str](), list[object]()
            with _noted(failed, f"the standings of {board.name}"):
                listed = view.report(board).players
                for row in listed.rows:
                    ids.add(row.player)
                    shown_name = names.get(row.player), profiles.get(row.player)
                    places.append((row.player, listed.places[row.rating], row.points, shown_name))
            raced: dict[str, list[RaceDigest]] = defaultdict(list)
            for digest, *near in zip(digests, [None, *digests[:-1]], [*digests[1:], None], strict=True):
                neighbors = _token(*(each.race if each else "" for each in near))
                races[digest.race] += int(own, 16) + digest.value + int(neighbors, 16)
                for player in digest.players:
                    raced[player].append(digest)
            of_players = {
                player: _token(
                    own,
                    str(sum(digest.value for digest in theirs)),
                    names.get(player, ""),
                    profiles.get(player, ""),
                    str(player in ids),
                )
                for player, theirs in raced.items()
                if player in names
            }
            everything = _token(
                own, repr(places), repr(view.events(board)), *(str(digest.value) for digest in digests)
            )
            front.append(everything)
            without = set() if board.listing.scoring else {addresses.SCORES_CSV, addresses.SCORES_DATA}
            without |= set() if board.listing.ordering else {addresses.RATINGS}
            without |= set() if board.final_since else {addresses.RECAP, addresses.RECAP_CARD}
            of_board = (board.address.of(route) for route in routes["board",] if route not in without)
            tokens |= dict.fromkeys(of_board, everything)
            tokens[board.address.of(addresses.RACES)] = everything
            tokens.update(_board_parts(board, listed, own, digests, of_players))
            for player, token in of_players.items():
                players[player].append(token)
                for route in routes["board", "player"]:
                    tokens[route.path(player=player, board=board.address.stem)] = token
                more = dict.fromkeys(_more_of_player(board, player, raced[player]), token)
                numbered[player] |= more
                tokens |= more
    theme = [templating.THEME] if publication.theme else []
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
    for board in view.boards:
        tokens |= {route.path(category=board.category): _token(*front) for route in routes["category",]}
    events: Sequence[EventReport] = ()
    with _noted(failed, "events"):
        events = event_reports(view.ledger)
    for route in (addresses.EVENTS, addresses.EVENTS_DATA):
        tokens[route.path()] = _token(program, repr(events))
    for report in events:
        token = _token(program, repr(report), str(report.event.name in races))
        tokens |= {route.path(event=report.event.name): token for route in routes["event",]}
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
    board: Board,
    listed: ListedPlayers | None,
    own: str,
    digests: list[RaceDigest],
    of_players: dict[str, str],
) -> Iterator[tuple[str, str]]:
    """Yield the later pages of a leaderboard and its older races, which depend only on what they list."""
    size, rows = addresses.PAGE_SIZE, listed.rows if listed else ()
    for number in range(2, -(-len(rows) // size) + 1):
        parts = [
            repr((row, listed.places[row.rating], row.player in listed.before))
            + repr((listed.points_won(row), listed.places_won(row)))
            + of_players.get(row.player, "")
            for row in rows[(number - 1) * size : number * size]
            if listed is not None
        ]
        yield board.address.page(number), _token(own, str(len(rows)), *parts)
    older = older_race_pages(len(digests))
    for number in range(1, older + 1):
        first, last = race_span(len(digests), number)
        values = (str(digest.value) for digest in digests[first - 1 : last])
        yield board.address.of(addresses.RACES, number=number), _token(own, str(older), *values)


def _more_of_player(board: Board, player: str, raced: Sequence[RaceDigest]) -> Iterator[str]:
    """Yield the pages that only players with many races or opponents have on a leaderboard."""
    if len(raced) > player_pages.LAST_RACES:
        for number in (None, *range(1, older_race_pages(len(raced)) + 1)):
            yield board.address.of(addresses.PLAYER_RACES, player=player, number=number)
    opponents = len(set().union(*(digest.players for digest in raced))) - 1
    if opponents > addresses.OPPONENTS_SHOWN:
        for number in range(1, player_pages.opponent_pages(opponents) + 1):
            yield board.address.opponents(player, number)


def _token(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
