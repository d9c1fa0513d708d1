"""Pages show every kind of change of the ledger at once."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from builders import CATEGORY, NOON, entrant, existing, result

from racebot.ledger.rows import Player, StoredRace
from racebot.ledger.store import Ledger
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig
from racebot.standings.follow_settings import apply_settings, follow_renames
from racebot.standings.settle import Settler
from racebot.web.http.cache import CachedPages, Key
from racebot.web.routes import MatchedRoute, Pages
from racebot.web.site.ledger_view import Content, Document, Publication

from .conftest import RACES, at, rate

BOARD = "leaderboards/orb/any-orb.html"
DOCUMENTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("", {}),
    (BOARD, {}),
    (BOARD, {"at": "2026-03-01"}),
    ("leaderboards/orb/any-orb/fame.html", {}),
    ("races/orb/b.html", {}),
    ("api/leaderboards/orb/any-orb", {}),
    ("api/leaderboards/orb/any-orb/players/id-ann", {}),
)
PUBLICATION = Publication(lambda _: Listing(minimum_finishes=1))
NEW_NAME = replace(
    result("e", "gus"), entrants=(entrant("gus", time=1), replace(entrant("ann", "dnf"), name="Anna"))
)


def player(settler: Settler, name: str) -> Player:
    return existing(settler.ledger.players.get(f"id-{name}"))


def stored(settler: Settler, name: str) -> StoredRace:
    return existing(settler.ledger.races.get(f"{CATEGORY}/{name}"))


def settle(settler: Settler, race: RaceResult) -> None:
    assert settler.settle(race, race.ended_at)


OTHER = LeaderboardConfig("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.3]})
CHANGES: dict[str, Callable[[Settler], object]] = {
    "a new race": lambda settler: settle(settler, result("d", "di ann cy", after=300)),
    "an edited race": lambda settler: settle(settler, result("b", "di ed", dnf="cy", after=24)),
    "a past race": lambda settler: settler.add_past_races([result("past", "fay ann", after=-24)], "import"),
    "a new name": lambda settler: settle(settler, replace(NEW_NAME, ended_at=NOON)),
    "a hidden player": lambda settler: orders.hide(settler, player(settler, "ann"), "asked", NOON),
    "a player listed again": lambda settler: orders.unhide(settler, player(settler, "ann"), "asked", NOON),
    "an excluded race": lambda settler: orders.exclude(settler, stored(settler, "a"), "test", NOON),
    "an included race": lambda settler: orders.exclude(settler, stored(settler, "a"), "", NOON, undo=True),
    "accounts of one person": lambda settler: orders.merge_accounts(
        settler, player(settler, "fay"), player(settler, "ed"), "same", NOON
    ),
    "a forgotten player": lambda settler: orders.forget(settler, player(settler, "bo"), "asked", NOON),
    "a withdrawn race": lambda settler: settler.withdraw(f"{CATEGORY}/c"),
    "other settings": lambda settler: apply_settings(rate(settler.ledger, config=OTHER)),
    "another leaderboard": lambda settler: settler.add_past_races(
        [replace(result("other", "ann bo", after=9), goal="New Orb")], "import"
    ),
    "a renamed goal": lambda settler: follow_renames(
        settler, [replace(RACES[0], goal="All Orbs")], {"All Orbs", "New Orb"}
    ),
}


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    return rate(ledger, *RACES)


@pytest.fixture
def library(settler: Settler) -> Iterator[CachedPages]:
    with closing(CachedPages(settler.ledger.path, PUBLICATION)) as library:
        yield library


def documents(library: CachedPages) -> list[bytes | None]:
    found = (library.document(at(path), query) for path, query in DOCUMENTS)
    return [each.body if isinstance(each, Document) else None for each in found]


def test_every_change_of_the_ledger_shows_on_all_pages(settler: Settler, library: CachedPages) -> None:
    last = documents(library)
    for change, make in CHANGES.items():
        make(settler)
        with closing(CachedPages(settler.ledger.path, PUBLICATION)) as fresh:
            expected = documents(fresh)
        assert expected != last, f"{change} changed nothing"
        found = documents(library)
        assert [path for path, a, b in zip(DOCUMENTS, found, expected, strict=True) if a != b] == [], change
        last = expected


def test_pages_say_when_ratings_were_last_written(settler: Settler, library: CachedPages) -> None:
    def shown(path: str, query: dict[str, str] | None = None) -> str | None:
        found = library.document(at(path), query or {})
        assert isinstance(found, Document)
        moment = re.search(r'Updated <time datetime="([^"]+)"', found.body.decode())
        return moment and moment[1]

    for change in ("a new race", "an edited race", "a withdrawn race", "other settings"):
        with settler.ledger.transaction():
            settler.ledger.connection.write(
                "UPDATE leaderboards SET updated_at = '2026-04-02T12:00:00+00:00'"
            )
        assert not settler.settle(RACES[0], NOON)  # it is already stored like this
        assert shown(BOARD) == shown("") == "2026-04-02T12:00:00Z"
        CHANGES[change](settler)
        assert str(shown(BOARD)) > "2026-04-02T12:00:00Z"
    assert shown(BOARD, {"at": "2026-03-01"}) is None


def test_a_change_right_before_rendering_shows_in_full(
    settler: Settler, library: CachedPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.document(at("players/id-ann/orb/any-orb.html"), {})

    class Changing(dict[Key, Document]):
        def get(self, *_: object) -> None:  # type: ignore[override]
            settler.withdraw(f"{CATEGORY}/c")

    monkeypatch.setattr(library, "cache", Changing())
    feed = library.document(at("players/id-ann/orb/any-orb/feed.xml"), {})
    assert isinstance(feed, Document)
    assert feed.body.count(b"<entry>") == 1


def test_a_page_rendered_before_a_change_is_not_shown_after_it(
    settler: Settler, library: CachedPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    render = Pages.content

    def slow(self: Pages, match: MatchedRoute, query: Mapping[str, str]) -> Content:
        content = render(self, match, query)
        monkeypatch.undo()
        settler.withdraw(f"{CATEGORY}/c")
        with ThreadPoolExecutor(1) as other:  # another reader sees the change first
            other.submit(library.document, at(""), {}).result()
        return content

    monkeypatch.setattr(Pages, "content", slow)
    before, after = (library.document(at(BOARD), {}) for _ in range(2))
    assert isinstance(before, Document) and isinstance(after, Document)
    assert before.body != after.body
