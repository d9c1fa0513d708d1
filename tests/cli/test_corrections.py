"""Orders as an operator types them."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from builders import NOON, entrant, result

from racebot.ledger.outbox import CaseRow
from racebot.ledger.rows import Player
from racebot.ledger.store import Ledger
from racebot.races.result import NO_NAME
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

from .conftest import Racebot


@contextmanager
def settler_of(folder: Path) -> Generator[Settler]:
    with Ledger.open(folder / "ledger.db") as ledger:
        yield Settler(ledger, RatingRules(LeaderboardConfig("elo-ffa")))


@pytest.fixture
def racebot(racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Racebot:
    """Run a command on a ledger with two races."""
    monkeypatch.setenv("RACEBOT_DATABASE", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("RACEBOT_MODEL", "elo-ffa")
    monkeypatch.setenv("RACEBOT_MINIMUM_FINISHES", "0")
    with settler_of(tmp_path) as settler:
        anns = tuple(entrant("ann", time=n, user_id=f"ann{n}", discriminator=f"000{n}") for n in (1, 2))
        settler.add_past_races([result("first", entrants=anns), result("second", "bo cy", after=1)], "import")
    return racebot


def names(racebot: Racebot) -> list[str]:
    code, out, _ = racebot("leaderboard", "--json")
    assert code == 0
    return [entry["name"] for board in json.loads(out) for entry in board["players"]]


def test_each_order_is_carried_out_and_listed(racebot: Racebot) -> None:
    assert racebot("audit") == (0, "no orders\n", "")
    assert racebot("merge", "ann1", "ann2", "--yes")[0] == 2, "they raced each other"
    assert racebot("hide", "Ann#0001", "--reason", "asked")[0] == 0
    assert "Ann#0001" not in names(racebot)
    assert racebot("unhide", "ann1")[0] == 0
    assert "Ann#0001" in names(racebot)
    assert racebot("forget", "id-cy", "--yes")[0] == 0
    assert "Cy" not in names(racebot)
    code, out, _ = racebot("exclude", "first", "--reason", "wrong seed")
    assert (code, "ratings updated" in out) == (0, True)
    assert not any(name.startswith("Ann") for name in names(racebot))
    assert racebot("include", "orb/first")[0] == 0
    assert racebot("merge", "ann2", "id-bo", "--reason", "new account", "--yes")[0] == 0
    assert sorted(names(racebot)) == ["Ann", "Bo"]
    assert racebot("verify")[0] == 0
    code, out, _ = racebot("audit", "--json")
    assert [(each["order"], each["subject"], each["reason"]) for each in json.loads(out)] == [
        ("hide", "ann1", "asked"),
        ("unhide", "ann1", ""),
        ("forget", "id-cy", ""),
        ("exclude", "orb/first", "wrong seed"),
        ("include", "orb/first", ""),
        ("merge", "ann2", "new account"),
    ]
    code, out, _ = racebot("audit")
    assert code == 0
    assert "wrong seed" in out


def test_a_player_who_hid_before_any_race_is_shown_and_forgotten_by_id(
    racebot: Racebot, tmp_path: Path
) -> None:
    with settler_of(tmp_path) as settler:
        orders.hide(settler, Player("new7", "Newcomer", "", "Newcomer"), "", NOON, by_player=True)
    (listed,) = json.loads(racebot("audit", "--json").out)
    steps = [racebot(*words, listed["subject"]) for words in (("unhide",), ("hide",), ("forget", "--yes"))]
    assert [step.code for step in steps] == [0, 0, 0]
    with settler_of(tmp_path) as settler:
        third = result("third", entrants=(entrant("newcomer", user_id="new7"), entrant("bo")), after=2)
        settler.add_past_races([third], "import")
        player = settler.ledger.players.get("new7")
    assert player is not None
    assert player.name == NO_NAME


def test_an_account_that_the_site_does_not_know_is_merged_but_never_kept(
    racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger knows the account from an order in chat."""
    monkeypatch.setattr("racebot.cli.common.accounts", lambda *_: [])
    with settler_of(tmp_path) as settler:
        orders.hide(settler, Player("new7", "Newcomer", "", "Newcomer"), "", NOON, by_player=True)
    done = racebot("merge", "id-bo", "new7", "--yes")
    assert (done.code, len(done.complaints), "new7" in done.complaints[0]) == (2, 1, True)
    assert "Bo" in names(racebot)
    assert racebot("merge", "new7", "id-bo", "--yes").code == 0
    assert "Bo" not in names(racebot), "the person asked to be hidden"


@pytest.mark.parametrize(
    "words",
    [
        ("hide", "Bo"),
        ("hide", "Ann#0003"),
        ("forget", "ann"),
        ("merge", "Ann", "id-bo"),
        ("unhide", "ann1"),
        ("hide", "orb/first"),
        ("exclude", "third", "--reason", "x"),
        ("exclude", "first", "--reason", " "),
        ("exclude", "first"),
        ("include", "first"),
    ],
)
def test_invalid_order_is_reported_and_changes_nothing(racebot: Racebot, words: tuple[str, ...]) -> None:
    before = names(racebot)
    done, out, err = racebot(*words)
    assert (done, out) == (2, "")
    assert err
    assert json.loads(racebot("audit", "--json")[1]) == []
    assert names(racebot) == before


@pytest.mark.parametrize("words", [("forget", "id-cy"), ("merge", "ann2", "id-bo")])
def test_an_order_that_cannot_be_undone_needs_a_confirmation_and_backs_up(
    racebot: Racebot, tmp_path: Path, words: tuple[str, ...]
) -> None:
    asked = racebot(*words)
    assert asked.code == 2, "a script must not believe that it is done"
    assert "1 race" in asked.out
    assert json.loads(racebot("audit", "--json").out) == []
    assert not list(tmp_path.glob("backups/*.db"))
    assert racebot(*words, "--yes").code == 0
    (copy,) = tmp_path.glob("backups/*.db")
    with Ledger.open_to_read(copy) as before:
        assert before.orders.all() == []


def test_any_command_takes_the_slug_of_a_race_unless_two_have_it(racebot: Racebot, tmp_path: Path) -> None:
    with settler_of(tmp_path) as settler:
        other = replace(result("first", "bo cy"), name="smr/first", category="smr")
        settler.add_past_races([other], "import")
    for command in ("exclude {}", "skip {}", "penalty {} id-bo 1:00", "include {}"):
        twice, once = (racebot(*command.format(slug).split(), "--reason=x") for slug in ("first", "second"))
        assert (twice.code, "orb/first, smr/first" in twice.complaints[0]) == (2, True)
        assert once.code == (2 if "penalty" in command else 0), "it is recorded"
    assert racebot("exclude", "https://racetime.gg/orb/first", "--reason", "x").code == 0


@pytest.mark.parametrize("stage", ["joined", "finished"])
def test_an_order_about_a_race_that_is_not_recorded_says_so(racebot: Racebot, tmp_path, stage: str) -> None:
    finished = () if stage == "joined" else (NOON, NOON)
    with Ledger.open(tmp_path / "ledger.db") as ledger, ledger.transaction():
        ledger.cases.save(CaseRow("orb/third", "orb", *finished))
    code, _, err = racebot("exclude", "orb/third", "--reason", "x")
    assert (code, "not recorded" in err) == (2, True)
