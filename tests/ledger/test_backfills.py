from __future__ import annotations

from datetime import timedelta

from builders import CATEGORY, NOON, result

from racebot.ledger.store import Ledger

LATER = NOON + timedelta(hours=1)


def test_each_fetched_page_is_stored_but_an_old_backfill_not_resumed(ledger: Ledger) -> None:
    assert ledger.backfills.next_page(CATEGORY, not_before=NOON) == 1
    with ledger.transaction():
        ledger.backfills.save_page(CATEGORY, 1, [result("a", "ann"), result("b", "bo")], NOON)
    with ledger.transaction():
        ledger.backfills.save_page(CATEGORY, 2, [result("b", "cy"), result("c", "ann")], LATER)
    assert ledger.backfills.next_page(CATEGORY, not_before=NOON) == 3
    assert ledger.backfills.next_page(CATEGORY, not_before=NOON + timedelta(microseconds=1)) == 1
    kept = {r.name: r for r in ledger.backfills.results(CATEGORY)}
    assert kept == {
        f"orb/{slug}": result(slug, who) for slug, who in (("a", "ann"), ("b", "cy"), ("c", "ann"))
    }


def test_first_page_starts_a_new_backfill(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.backfills.save_page(CATEGORY, 1, [result("a", "ann")], NOON)
        ledger.backfills.save_page(CATEGORY, 2, [result("b", "ann")], NOON)
        ledger.backfills.save_page(CATEGORY, 1, [result("c", "ann")], LATER)
    assert [r.name for r in ledger.backfills.results(CATEGORY)] == ["orb/c"]
    assert ledger.backfills.next_page(CATEGORY, not_before=LATER) == 2


def test_categories_have_their_own_backfills(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.backfills.save_page(CATEGORY, 1, [result("a", "ann")], NOON)
        ledger.backfills.save_page("cup", 1, [result("x", "ann", name="cup/x")], NOON)
        ledger.backfills.save_page("cup", 2, [], NOON)
    ledger.backfills.clear("cup")
    assert ledger.backfills.results("cup") == []
    assert ledger.backfills.next_page("cup", not_before=NOON) == 1
    assert ledger.backfills.next_page(CATEGORY, not_before=NOON) == 2
    assert [r.name for r in ledger.backfills.results(CATEGORY)] == ["orb/a"]
    assert (ledger.backfills.count(CATEGORY), ledger.backfills.count("cup")) == (1, 0)
