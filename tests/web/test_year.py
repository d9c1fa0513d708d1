"""A player's year: days with races, and milestones."""

from builders import result

from racebot.queries.history import milestones
from racebot.web.html import charts

from .conftest import Merge


def test_days_of_the_last_year_are_squares_in_their_weeks(merge: Merge) -> None:
    days = [0, 0, 2, 300, 400]
    view = merge([result(f"r{n}", "ann bo", after=24 * at + n) for n, at in enumerate(days)])
    year = charts.Year(view.history(view.boards[0], "id-ann"))
    assert year.label == "2 races on 2 days in the year to 5 Apr 2027"
    (early_x, *_), (late_x, late_y, level, title) = year.days
    assert (late_x - early_x) // charts.Year.SIZE in {14, 15}, "a hundred days"
    assert late_x == 52 * charts.Year.SIZE
    assert late_y == charts.Year.TOP, "a Monday"
    assert level == 1 and title.startswith("5 Apr 2027: 1 race, +")
    assert len(year.ticks) >= 3


def test_milestones_name_the_race_that_reached_them(merge: Merge) -> None:
    view = merge([result("lost", "bo ann"), *(result(f"n{n}", "ann bo", after=1 + n) for n in range(60))])
    found = {words: race.race for words, race in milestones(view.history(view.boards[0], "id-ann"))}
    reached = {"First race": "orb/lost", "First win": "orb/n0", "50th race": "orb/n48", "10th win": "orb/n9"}
    assert reached.items() <= found.items() and "100th race" not in found
