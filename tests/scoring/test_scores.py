"""Scores by par, against figures of a separate script (awk, in minutes) and against sums by hand."""

from dataclasses import replace
from itertools import product

import pytest
from builders import entrant, result
from hypothesis import given, settings, strategies as st

from racebot.errors import PayloadError, SettingsError
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.scoring.rules import NAMED, Par, rules_of
from racebot.scoring.table import Chance, Forecast, Score, ScoredRace, add_up, score, score_race, standings

MINUTE = 60_000_000
ALL_ADDED = {"rules": "sgl-2024", "first": 0, "drop_worst_from": 0, "mean_over": 0}
SGL = ["sgl-2023", "sgl-2024", "sgl-2025"]


def race(*minutes: float, dnf: int = 0, **facts: object) -> RaceResult:
    """A race of racers 0, 1, … with these times, and of racers who did not finish."""
    done = [entrant(str(n), time=round(m * MINUTE)) for n, m in enumerate(minutes)]
    rest = [entrant(f"dnf-{n}", "dq" if n % 2 else "dnf", time=MINUTE) for n in range(dnf)]
    return replace(result(), entrants=(*done, *rest), **facts)  # type: ignore[arg-type]


def scored(found: RaceResult, name: str, teams: TeamPolicy = TeamPolicy.INDIVIDUAL) -> ScoredRace:
    each = score_race(found, rules_of(name), teams)
    assert each is not None
    return each


# A: fewer finishers than most pars need. B: a tie, and a field of 20, so a par of 4. C: spread times, a
# fast seed. D: a slow seed. E: one finisher.
A, B = race(80, 82, 84, 90, dnf=1), race(100, 100, 104, 108, 130, 200, dnf=14)
C, D = race(60, 70, 75, 80, 85, 90, 100, 120, 140), race(110, 112, 112, 118, 120, 125, 126, 150, 260)
E = race(75, dnf=2)


@pytest.mark.parametrize(
    ("names", "field", "par", "preliminary", "scores"),
    [
        (SGL, race(100, 100, 104, 108, dnf=15), 6080, False, []),  # nineteen entrants
        (SGL, A, 4920, False, [102.439024, 100, 97.560976, 90.243902, 0]),
        (SGL, B, 6180, False, [102.912621, 102.912621, 99.029126, 95.145631, 73.786408, 10, 0]),
        (SGL, C, 4100, False, [110, 97.560976, 90.243902, 82.926829, 75.609756, 68.292683, 53.658537]),
        (SGL, D, 6680, False, [101.197605, 99.401198, 99.401198, 94.011976, 92.215569, 87.724551]),
        (SGL, E, 4500, True, [100, 0, 0]),
        (["sahasrahbot"], A, 5040, False, [104.761905, 102.380952, 100, 92.857143, 0]),
        (["sahasrahbot"], B, 6504, False, [105, 105, 104.059041, 100.369004, 80.073801, 15.498155, 0]),
        (["sahasrahbot"], D, 6864, False, [103.846154, 102.097902, 102.097902, 96.853147, 95.104895]),
        (["standard-s4"], A, 5040, True, [1047.619048, 1023.809524, 1000, 963.633337, 0]),
        (["standard-s4"], B, 7420, True, [1100, 1100, 1100, 1100, 998.658580, 463.611860, 0]),
        (["standard-s4"], C, 4800, False, [1100, 1100, 1062.5, 1000, 1021.875, 981.25, 875, 625, 375]),
        (["standard-s4"], D, 7054.285714, False, [1064.398542, 1047.387606, 1047.387606, 997.809978]),
        (["standard-s4"], E, 4500, True, [1000, 0, 0]),
        (["standard-s9"], A, 5040, True, [1047.619048, 1023.809524, 1000, 930.521138, 0]),
        (["standard-s9"], B, 7420, True, [1100, 1100, 1100, 1100, 950.777202, 406.735751, 0]),
        (["standard-s9"], C, 4800, False, [1100, 1100, 1062.5, 1000, 942.129630, 886.104784, 779.249448]),
        (["standard-s9"], D, 7054.285714, False, [1064.398542, 1047.387606, 1047.387606, 996.357312]),
    ],
)
def test_each_family_scores_as_its_source(
    names: list[str], field: RaceResult, par: float, preliminary: bool, scores: list[float]
) -> None:
    for name in names:
        found = scored(field, name)
        assert found.par is not None
        assert found.par.time == pytest.approx(par, abs=1e-6)
        assert bool(found.par.preliminary_until) is preliminary
        got = [found.scores[str(each.user_id)].score for each in field.entrants]
        assert got[: len(scores)] == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "entered", "total", "key"),
    [
        ("sgl-2023", [90, 100, 80], 90, 3),
        ("sgl-2023", [100], 100 / 3, 1),
        ("sgl-2023", [90, 100, 80, 70], 80, 3),  # without 100
        ("sgl-2023", [90, 100, 80, 70, 60, 110], 80, 3),  # without 100 and 60; the sixth is too late
        ("sgl-2023", [100, None, 90, None], 30, 3),  # without 100, of 3
        ("sgl-2024", [90, 100, 80, 70], 90, 3),  # without 70
        ("sgl-2024", [90, 100, 80, 70, 60, 50, 110], 80, 3),  # 400 of 5, without 50
        ("sgl-2024", [100, None, None], 100 / 3, 3),
        ("sgl-2025", [90, 100, 80, 70, 60], 85, 3),
        ("sgl-2025", [100, None, None], 100 / 3, 1),
        (ALL_ADDED, [90, 100, None, 70, 60, 50, 110], 480, 3),
        ("standard-s9", [1000], 1000, 1),
        ("standard-s9", [1000, None], 0, 1),  # the best of two entered goes, and the forfeit
        ("standard-s9", [1000, 900, 950, 800, 700, None, 600, 650, 1100], 3350, 5),  # 950 + 900 + 800 + 700
        ("sahasrahbot", [105, 100, None], 205 / 6, 0),
    ],
)
def test_totals_count_and_drop_as_the_rules_say(
    name: str | dict[str, object], entered: list[float | None], total: float, key: int
) -> None:
    found = add_up(entered, rules_of(name), 6)
    assert found.score == pytest.approx(total, abs=1e-9)
    assert found.key == (key, round(found.score, 9))


times = st.integers(min_value=1, max_value=36_000)


@given(st.sampled_from(list(NAMED)), times, times, st.integers(1800, 20_000), st.floats(0, 0.1))
def test_a_faster_time_never_scores_less(name: str, one: int, other: int, par: int, spread: float) -> None:
    rules = rules_of(name)
    fast, slow = (score(t, Par(par, spread * par), rules)[0] for t in sorted([one, other]))
    assert fast >= slow - 1e-9
    assert rules.lowest <= slow <= fast + 1e-9 <= rules.highest + 1e-9


@given(
    st.sampled_from(list(NAMED)), st.lists(st.lists(st.integers(60, 200), min_size=3, max_size=3), max_size=7)
)
def test_a_dropped_score_changes_nobodys_total(name: str, seasons: list[list[int]]) -> None:
    rules = rules_of(name)
    races = [scored(race(*minutes, dnf=1), name) for minutes in seasons]
    table = standings(races, rules)
    for standing in table.standings:
        for index, each in enumerate(standing.scores):
            own = [s.score for s in standing.scores if s]
            if each is None or index in standing.counted or not min(own) == each.score < max(own):
                continue
            lower = {**races[index].scores, standing.id: each._replace(score=each.score / 2)}
            changed = replace(races[index], scores=lower)
            again = standings([*races[:index], changed, *races[index + 1 :]], rules)
            totals = {s.id: s.total.score for s in again.standings}
            assert totals == {s.id: s.total.score for s in table.standings}


def test_equal_racers_share_a_place_and_hidden_ones_only_make_pars() -> None:
    assert add_up([0.1, 0.2], rules_of(ALL_ADDED), 2).key[1] == 0.3
    races = [scored(race(80, 80, 90), "sgl-2025")]
    assert [s.place for s in standings(races, rules_of("sgl-2025")).standings] == [1, 1, 3]
    without = standings(races, rules_of("sgl-2025"), {"id-0"}).standings
    assert [s.place for s in without] == [1, 2]
    assert without[1].total.score == pytest.approx(92 / 3)


def test_a_race_of_teams_is_scored_only_member_by_member() -> None:
    people = [entrant(n, time=m * MINUTE, team=t) for n, m, t in (("a", 80, "x"), ("b", 90, "x"))]
    found = replace(result(), entrants=tuple(people))
    assert scored(found, "sgl-2025").scores["id-a"].time == 4800
    for teams in (TeamPolicy.TEAM, TeamPolicy.IGNORE):
        assert score_race(found, rules_of("sgl-2025"), teams) is None


def test_a_finisher_without_a_time_is_refused() -> None:
    with pytest.raises(PayloadError, match="first"):
        scored(replace(result(), entrants=(entrant("ann", place=1),)), "sgl-2025")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("sgl-2026", "'sgl-2025'"),
        ({"rules": "sgl-2025", "frist": 5}, "'first'"),
        ({"first": -1}, "first"),
        ({"par": [[5, 3]]}, "par"),
        ({"lowest": 120}, "lowest"),
    ],
)
def test_unusable_rules_are_refused_by_name(given: object, named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        rules_of(given)  # type: ignore[arg-type]


def plain_race(scores: dict[str, float | None]) -> ScoredRace:
    """A race with a par of 100 minutes and these scores."""
    grades = {p: Score(entrant(p), None if s is None else 6000.0, s or 0.0) for p, s in scores.items()}
    return ScoredRace(result(), Par(6000, 0), grades)


grades = st.one_of(st.none(), st.integers(10, 110))
seasons = st.lists(st.dictionaries(st.sampled_from("abcd"), grades, min_size=1), min_size=1, max_size=3)


@given(st.sampled_from(SGL), seasons, st.integers(0, 2), st.integers(1, 3))
@settings(max_examples=40)
def test_secured_is_the_worst_case_played_out(
    name: str, season: list[dict[str, float | None]], coming: int, cut: int
) -> None:
    """Every other racer forfeits or scores 110 in each race to come, and three newcomers may join."""
    rules = rules_of(name, races=len(season) + coming)
    races = [plain_race(scores) for scores in season]
    table = standings(races, rules)
    for standing in table.standings:
        others = [s.id for s in table.standings if s is not standing] + (["n1", "n2", "n3"] if coming else [])
        safe = True
        for strong in product([False, True], repeat=len(others)):
            best = {p: 110.0 if is_strong else None for p, is_strong in zip(others, strong, strict=True)}
            future = [plain_race({**best, standing.id: None}) for _ in range(coming)]
            final = standings([*races, *future], rules).standings
            own = next(s for s in final if s.id == standing.id)
            safe = safe and sum(s.total.key >= own.total.key for s in final) <= cut
        assert (Forecast(table, cut).of(standing).chance is Chance.SECURED) == safe


def inside(table_races: list[ScoredRace], name: str, player: str, time: int, cut: int) -> bool:
    """Run the next race with one racer, at the par so far."""
    rules = rules_of(name)
    grade = score(time, Par(6000, 0), rules)[0]
    final = standings([*table_races, plain_race({player: grade})], rules).standings
    own = next(s for s in final if s.id == player)
    return sum(s.total.key >= own.total.key for s in final) <= cut


@given(st.sampled_from(list(NAMED)), seasons, st.integers(1, 3))
def test_the_time_needed_is_the_slowest_that_suffices(
    name: str, season: list[dict[str, float | None]], cut: int
) -> None:
    races = [plain_race(scores) for scores in season]
    table = standings(races, rules_of(name))
    for standing in table.standings:
        outlook = Forecast(table, cut).of(standing)
        if outlook.chance is Chance.TIME:
            assert outlook.time is not None
            assert inside(races, name, standing.id, outlook.time, cut)
            assert not inside(races, name, standing.id, outlook.time + 1, cut)
        elif outlook.chance is not Chance.SECURED and outlook.chance is not Chance.INSIDE:
            possible = [inside(races, name, standing.id, t, cut) for t in (1, 86_400)]
            assert possible == [outlook.chance is Chance.FINISH] * 2


def test_equal_racers_at_the_cut_are_not_secured() -> None:
    table = standings([plain_race({"a": 100, "b": 90, "c": 90})], rules_of("sgl-2025", races=1))
    chances = [Forecast(table, 2).of(each).chance for each in table.standings]
    assert chances == [Chance.SECURED, Chance.OVER, Chance.OVER]
    assert Forecast(table, 2).line == pytest.approx(30)
