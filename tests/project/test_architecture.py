"""Imports point inward: read from the import lines, so that a shortcut is seen before it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import racebot

ROOT = Path(racebot.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

OUTSIDE = {
    "httpx",
    "websockets",
    "sqlite3",
    "sqlite_utils",
    "asyncio",
    "requests",
    "urllib",
    "socket",
    "aiohttp",
}
"""What the pure parts must not know: the network, the database, and waiting."""

INNERMOST = {"racebot.errors", "racebot.races"}

ALLOWED = {
    "racebot.errors": set(),
    "racebot.races": {"racebot.errors"},
    "racebot.ratings": INNERMOST,
    "racebot.study": {*INNERMOST, "racebot.ratings"},
    "racebot.racetime": {*INNERMOST, "racebot"},
    "racebot.ledger": INNERMOST,
    "racebot.chat.templates": set(),
    "racebot.chat.messages": {*INNERMOST, "racebot.chat.templates"},
    "racebot.chat.commands": {*INNERMOST, "racebot.chat.messages"},
    "racebot.standings.explain": {*INNERMOST, "racebot.ratings"},
    "racebot.standings.settle": {*INNERMOST, "racebot.ratings", "racebot.ledger"},
    "racebot.web": {
        *INNERMOST,
        "racebot",
        "racebot.chat.messages",
        "racebot.ledger",
        "racebot.ratings",
        "racebot.standings.queries",
    },
}
"""What each part of the package may import of the others. A bare `racebot` is the version."""

PURE = (
    "racebot.races",
    "racebot.ratings",
    "racebot.study",
    "racebot.errors",
    "racebot.chat.templates",
    "racebot.chat.messages",
    "racebot.chat.commands",
    "racebot.standings.explain",
)
MAY_KNOW_THE_SANDBOX = ("racebot.sandbox", "racebot.cli.demo", "racebot.cli")


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Full names of all that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if is_module(inner) else node.module


def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def within(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def part_of(name: str) -> str:
    """The part of the package that a module belongs to: `racebot.ledger.store` to `racebot.ledger`."""
    return ".".join(name.split(".")[:2])


def of(*parts: str) -> list[Path]:
    found = [path for path in MODULES if any(within(name_of(path), part) for part in parts)]
    assert found, f"{parts} are not in the package"
    return found


def test_there_is_something_to_read() -> None:
    assert len(MODULES) > 30
    assert "racebot.races.result" in {name_of(path) for path in MODULES}
    assert "racebot.races.result" in set(imports(ROOT / "races" / "outcome.py"))


@pytest.mark.parametrize("path", of(*PURE), ids=name_of)
def test_pure_parts_know_no_network_no_database_and_no_waiting(path: Path) -> None:
    known = {name.partition(".")[0] for name in imports(path)}
    assert known & OUTSIDE == set()


@pytest.mark.parametrize("path", of(*ALLOWED), ids=name_of)
def test_imports_point_inward(path: Path) -> None:
    own = part_of(name_of(path))
    others = {part_of(name) for name in imports(path) if within(name, "racebot")} - {own}
    assert others <= ALLOWED[own]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_that_is_shipped_knows_of_tests(path: Path) -> None:
    known = {name.partition(".")[0] for name in imports(path)}
    assert known & {"tests", "pytest", "hypothesis", "unittest", "builders", "conftest"} == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_demo_and_commands_know_the_sandbox(path: Path) -> None:
    if not any(within(name_of(path), part) for part in MAY_KNOW_THE_SANDBOX):
        assert not any(within(name, "racebot.sandbox") for name in imports(path))


@pytest.mark.parametrize("path", of("racebot.sandbox"), ids=name_of)
def test_the_sandbox_does_not_use_the_code_that_it_is_there_to_test(path: Path) -> None:
    used = {part_of(name) for name in imports(path) if within(name, "racebot")}
    assert used & {"racebot.racetime", "racebot.ledger", "racebot.standings", "racebot.bot"} == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_clocks_and_chance_are_passed_in(path: Path) -> None:
    """Where pure code needs the time or a random number, it is given one."""
    if not any(
        within(name_of(path), part) for part in ("racebot.races", "racebot.ratings", "racebot.chat.messages")
    ):
        return
    known = set(imports(path))
    assert not any(within(name, module) for name in known for module in ("time", "random", "secrets"))
    text = path.read_text(encoding="utf-8")
    assert "datetime.now" not in text
    assert "np.random" not in text


def test_extras_of_the_package_are_imported_where_they_are_needed() -> None:
    """`pip install racebot` without extras must start: these are imported inside functions only."""
    extras = {"starlette", "uvicorn", "matplotlib", "jinja2", "pygal"}
    for path in MODULES:
        if any(
            within(name_of(path), part) for part in ("racebot.sandbox", "racebot.web", "racebot.cli.demo")
        ):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        for node in top:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [str(node.module)]
            assert not {name.partition(".")[0] for name in names} & extras, path
