"""Write the pages to a folder, for a static host or for opening locally.

An export renders the files whose token changed since the last export, and writes those whose content changed,
each one atomically. It removes its own files that are no longer needed and never touches other files.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from filelock import FileLock

from racebot.errors import RacebotError
from racebot.ledger.store import Ledger
from racebot.web.export_tokens import export_tokens, noted
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Document, LedgerView, Publication

MANIFEST = ".racebot-pages"  # manifest of the last export: a line for each file, with its path and token
LOCK = f"{MANIFEST}.lock"  # empty file that an export locks while it writes


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
            with noted(failed, path):
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
