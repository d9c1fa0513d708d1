"""Operators' orders are stored, replayed, and hold for every later race."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from builders import CATEGORY, GOAL, NOON, entrant, existing, result, seen
from standings import seasons
from standings.seasons import board_of

from racebot.chat.answers import Answers
from racebot.errors import DamagedRaceError, OrderError
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.outbox import Body, ChatBody, Delivery, InfoBody, Message
from racebot.ledger.rows import NamedPlayer as Person, Player
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import board_totals, leaderboard_report, place_among, top_players
from racebot.queries.race import race_report
from racebot.queries.standings import Listing
from racebot.races.result import NO_NAME, RaceResult
from racebot.settings.commands import Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

LATER = NOON + timedelta(days=9)
RULES = RatingRules(LeaderboardConfig("thurstone-hurdle"))
RACES = [
    result("a", "ann bo cy"),
    result("b", "cy ann", dnf="bo", after=1),
    result("c", "old bo", after=2),
    result("d", "old ann", after=3),
]


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    settler = Settler(ledger, RULES)
    settler.add_past_races(RACES, "import")
    return settler


def player(settler: Settler, name: str) -> Player:
    return existing(settler.ledger.players.get(f"id-{name}"))


def ratings(settler: Settler) -> dict[str, float]:
    return {s.player: s.rating for s in settler.ledger.standings.all(board_of(settler))}


def listed(settler: Settler) -> list[str]:
    board = board_of(settler)
    report = leaderboard_report(settler.ledger, board, Listing())
    names = [entry.name for entry in report.players]
    assert [s.name for _, s in top_players(settler.ledger, board, Listing(), 10)] == names
    assert board_totals(settler.ledger, board, Listing()).listed == len(names)
    return names


def settle(settler: Settler, race: RaceResult) -> RaceResult:
    return existing(seasons.settle(settler, race, LATER))[0].result


def ask(settler: Settler, command: Command, argument: str = "", by: str = "bo") -> str:
    answers = Answers(settler, Settings(minimum_finishes=0))
    room = seen(status="open", entrants=(entrant("ann", "racing"), entrant("bo", "racing")))
    asker = Person(f"id-{by}", by.title())
    return answers.answer(ParsedCommand(command, argument), room, asker, moderator=False)


# Hide


def test_hidden_player_is_unlisted_and_keeps_the_rating(settler: Settler) -> None:
    before = ratings(settler)
    orders.hide(settler, player(settler, "ann"), "asked\nfor it", LATER)
    assert settler.ledger.people.hiding("id-ann") == {False: "asked for it"}
    assert "Ann" not in listed(settler)
    assert ratings(settler) == before
    assert "not listed" in ask(settler, Command.RATING, by="ann")
    assert "Ann" not in ask(settler, Command.LEADERBOARD)
    best = next(s for s in settler.ledger.standings.all(board_of(settler)) if not s.hidden)
    assert place_among(settler.ledger, board_of(settler), best, Listing()) == (1, 3)
    assert verify(settler.ledger, board_of(settler)) == []
    orders.unhide(settler, player(settler, "ann"), "", LATER)
    assert "Ann" in listed(settler)


# Forget


def names_in(ledger: Ledger) -> str:
    """All text that the ledger shows or stores of players and results."""
    tables = ("players", "races", "orders", "outbox")
    rows = (row for table in tables for row in ledger.connection.db[table].rows)
    return "\n".join(str(cell) for row in rows for cell in row.values())


def test_forgotten_name_is_erased_and_the_place_stays(settler: Settler) -> None:
    before = ratings(settler)
    changes = settler.ledger.ratings.rows(board_of(settler))
    messages, told = settler.ledger.messages, {"id-cy": ("done", 1), "id-ann": ("done", 2)}
    entries = {"id-cy": "Cy", "id-ann": "Ann"}
    sent: list[tuple[str, Body]] = [
        ("orb/a", ChatBody("Cy")),  # an answer
        ("orb/soon", ChatBody("1. C y, 2.")),
        ("orb/soon", ChatBody("Ann", result="k", entries={GOAL: entries}, told=told)),
        ("orb/soon", InfoBody(("Cy",))),
        ("orb/of-others", ChatBody("Xu")),
    ]
    for number, (race, body) in enumerate(sent):
        messages.put(Message(race, CATEGORY, str(number), body), NOON)
        messages.mark(messages.of(race)[-1], Delivery.DELIVERED, NOON)
    orders.forget(settler, player(settler, "cy"), "asked", LATER)
    assert [row.message.body for row in messages.of("orb/soon")] == [
        ChatBody(""),
        ChatBody("", result="k", entries={GOAL: {"id-ann": "Ann"}}, told=told),
        InfoBody(),
    ]
    assert [row.message.body for row in messages.of("orb/of-others")] == [ChatBody("Xu")]
    assert "Cy" not in names_in(settler.ledger)
    assert "Cy" not in listed(settler)
    (part,) = race_report(settler.ledger, "a").leaderboards
    assert "Bo" in names_in(settler.ledger)
    assert [(e.standing, e.name) for e in part.entrants] == [("1", "Ann"), ("2", "Bo"), ("3", NO_NAME)]
    assert ask(settler, Command.RATING, "cy").startswith("No player has that name")
    assert ask(settler, Command.RATING, NO_NAME).startswith("No player has that name")
    assert "Cy" not in ask(settler, Command.WHY, by="ann")
    assert (ratings(settler), settler.ledger.ratings.rows(board_of(settler))) == (before, changes)
    assert verify(settler.ledger, board_of(settler)) == []
    settler.rebuild(board_of(settler))
    assert ratings(settler) == before


def test_a_forgotten_player_who_races_again_has_no_name(settler: Settler) -> None:
    orders.forget(settler, player(settler, "cy"), "", LATER)
    race = result("e", "cy ann", after=9)
    (preview,) = settler.preview(replace(race, recorded=False))
    assert [e.name for e in preview.result.entrants] == [NO_NAME, "Ann"]
    assert [e.name for e in settle(settler, race).entrants] == [NO_NAME, "Ann"]
    settler.add_past_races(RACES, "backfill")
    settle(settler, result("a", "bo ann cy"))
    assert "Cy" not in names_in(settler.ledger)
    assert verify(settler.ledger, board_of(settler)) == []
    assert NO_NAME in ask(settler, Command.RATING, by="cy")


# Merge


def with_accounts(race: RaceResult, accounts: dict[str, str]) -> RaceResult:
    """The race with other accounts in place of some."""
    entrants = [replace(e, user_id=accounts.get(str(e.user_id), e.user_id)) for e in race.entrants]
    return replace(race, entrants=tuple(entrants))


def merged(settler: Settler) -> Settler:
    orders.merge_accounts(settler, player(settler, "old"), player(settler, "cy"), "a new account", LATER)
    return settler


@pytest.mark.parametrize("givers", [{True}, {False}, {False, True}])
def test_a_merge_keeps_a_hidden_player_hidden(settler: Settler, givers: set[bool]) -> None:
    for by_player in givers:
        orders.hide(settler, player(settler, "old"), "asked", NOON, by_player=by_player)
    orders.merge_accounts(settler, player(settler, "old"), player(settler, "cy"), "same", NOON)
    assert "Cy" not in listed(settler)
    assert set(settler.ledger.people.hiding("id-cy")) == givers


@pytest.mark.parametrize("first", [True, False], ids=["player first", "operator first"])
def test_players_who_hid_themselves_stay_so_until_the_operator_insists(
    settler: Settler, *, first: bool
) -> None:
    ann = player(settler, "ann")
    for by_player in (first, not first):
        orders.hide(settler, ann, "asked", NOON, by_player=by_player)
    orders.unhide(settler, ann, "", LATER)
    assert "Ann" not in listed(settler)
    assert settler.ledger.people.hiding("id-ann") == {True: "asked"}
    orders.unhide(settler, ann, "", LATER)
    assert "Ann" in listed(settler)


def test_accounts_that_met_in_a_race_cannot_be_merged(settler: Settler) -> None:
    before = ratings(settler)
    with pytest.raises(OrderError, match="both raced in orb/d"):
        orders.merge_accounts(settler, player(settler, "old"), player(settler, "ann"), "", LATER)
    with pytest.raises(OrderError, match="same account"):
        orders.merge_accounts(settler, player(settler, "ann"), player(settler, "ann"), "", LATER)
    assert (ratings(settler), settler.ledger.orders.all()) == (before, [])


def test_merged_accounts_that_meet_later_are_rated_separately_in_that_race(settler: Settler) -> None:
    merged(settler)
    race = result("e", "old cy ann", after=9)
    settle(settler, race)
    stored = existing(settler.ledger.races.get(race.name))
    assert stored.result.entrants == race.entrants, "two people raced, with their names"
    assert ratings(settler).keys() >= {"id-old", "id-cy", "id-ann"}
    assert verify(settler.ledger, board_of(settler)) == []


def test_an_account_is_never_merged_into_one_that_was_merged_itself(settler: Settler) -> None:
    merged(settler)
    race = result("e", "old cy ann", after=9)
    settle(settler, race)  # both accounts race, so the ledger knows the merged one again
    settler.withdraw(race.name)
    for kept, given_up in (("old", "cy"), ("ann", "old")):
        with pytest.raises(OrderError, match="already merged"):
            orders.merge_accounts(settler, player(settler, given_up), player(settler, kept), "", LATER)
    assert settler.ledger.people.account("id-old") == "id-cy"


def test_a_merge_into_an_account_without_a_row_moves_races(settler: Settler) -> None:
    order = Order(LATER, OrderKind.MERGE, "id-old", "id-nobody", "")
    settler.ledger.orders.add(order)
    amended = settler.ledger.people.amended(result("e", "old ann", after=9))
    assert [(e.user_id, e.name) for e in amended.entrants] == [("id-nobody", "Old"), ("id-ann", "Ann")]


@pytest.mark.parametrize("order", ["merge", "forget"])
def test_verify_finds_a_result_that_ignores_an_order(settler: Settler, order: str) -> None:
    board, name = board_of(settler), f"{CATEGORY}/c"
    select = "SELECT result, fingerprint FROM races WHERE name = ?"
    (before,) = settler.ledger.connection.rows(select, name)
    if order == "merge":
        merged(settler)
    else:
        orders.forget(settler, player(settler, "old"), "", LATER)
    assert verify(settler.ledger, board) == []
    write = "UPDATE races SET result = ?, fingerprint = ? WHERE name = ?"
    settler.ledger.connection.write(write, *before, name)
    assert any("ignores an operator's order" in problem.text for problem in verify(settler.ledger, board))


def test_an_order_is_refused_if_a_result_cannot_be_read(settler: Settler) -> None:
    write = "UPDATE races SET result = result || '}' WHERE name = ?"
    settler.ledger.connection.write(write, f"{CATEGORY}/c")
    with pytest.raises(DamagedRaceError, match="orb/c"):
        orders.forget(settler, player(settler, "old"), "", LATER)
    assert settler.ledger.orders.all() == []


# All orders


def refused(*given: Callable[[], object]) -> None:
    for order in given:
        with pytest.raises(OrderError):
            order()


def test_an_order_that_changes_nothing_is_refused_and_not_stored(settler: Settler) -> None:
    ann, cy, old = (player(settler, name) for name in ("ann", "cy", "old"))
    race = settler.ledger.races.find("b")
    refused(
        lambda: orders.unhide(settler, ann, "", LATER),
        lambda: orders.exclude(settler, race, "", LATER, undo=True),
        lambda: orders.exclude(settler, race, "  ", LATER),
    )
    assert settler.ledger.orders.all() == []
    orders.hide(settler, ann, "", LATER)
    orders.exclude(settler, race, "x", LATER)
    orders.forget(settler, cy, "", LATER)
    orders.skip(settler, race.result.name, "a test", LATER)
    refused(
        lambda: orders.skip(settler, race.result.name, "", LATER),
        lambda: orders.hide(settler, ann, "", LATER),
        lambda: orders.exclude(settler, race, "x", LATER),
        lambda: orders.forget(settler, cy, "", LATER),
        lambda: orders.unhide(settler, ann, "", LATER, by_player=True),
        lambda: orders.unhide(settler, cy, "", LATER),
        lambda: orders.merge_accounts(settler, old, cy, "", LATER),
    )
    assert [order.kind for order in settler.ledger.orders.all()] == ["hide", "exclude", "forget", "skip"]


# Deleted accounts


def without_account(race: RaceResult, *names: str) -> RaceResult:
    gone = {f"id-{name}" for name in names}
    shown = (replace(e, user_id=None, name=NO_NAME) if e.user_id in gone else e for e in race.entrants)
    return replace(race, entrants=tuple(shown))


def test_a_deleted_account_is_forgotten_and_no_rating_changes(settler: Settler) -> None:
    before = settler.ledger.ratings.rows(board_of(settler))
    shown = [without_account(race, "cy") for race in RACES]
    assert orders.forget_deleted(settler, shown, LATER) == ["id-cy"]
    assert orders.forget_deleted(settler, shown, LATER) == [], "an order is given once"
    assert "Cy" not in listed(settler)
    assert "Cy" not in names_in(settler.ledger)
    for race in shown:
        settler.settle(race, LATER)
    settler.add_past_races(shown, "backfill")
    assert settler.ledger.ratings.rows(board_of(settler)) == before
    (entry,) = settler.ledger.orders.all()
    assert (entry.kind, entry.subject, entry.reason) == ("forget", "id-cy", orders.DELETED)


def test_entrant_stored_without_an_account_forgets_no_player(settler: Settler) -> None:
    race = without_account(result("e", "zed ann bo", after=9), "zed")
    settle(settler, race)
    assert orders.forget_deleted(settler, [race, result("a", "ann bo cy")], LATER) == []


def test_merged_account_does_not_count_as_deleted(settler: Settler) -> None:
    """The site still shows the race under the merged account."""
    merged(settler)
    race = without_account(result("e", "ann bo", dnf="old zed", after=9), "zed")
    settler.add_past_races([race], "import")
    assert orders.forget_deleted(settler, [race], LATER) == []


def test_the_person_whose_former_account_was_deleted_is_not_forgotten(settler: Settler) -> None:
    merged(settler)
    shown = [without_account(race, "old") for race in RACES]
    assert orders.forget_deleted(settler, shown, LATER) == []
    for race in shown:
        settler.settle(race, LATER)
    assert "Cy" in listed(settler)
    assert orders.forget_deleted(settler, [without_account(RACES[0], "ann", "bo")], LATER) == [
        "id-ann",
        "id-bo",
    ]
