import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from builders import CATEGORY, GOAL, entrant, existing, result, seen
from hypothesis import assume, given, settings, strategies as st
from worker_support import spaced

from racebot import __version__
from racebot.chat.answers import Answers
from racebot.ledger.rows import Leaderboard, NamedPlayer as Person
from racebot.ledger.store import Ledger
from racebot.queries.explain import Explanation, explain_race
from racebot.queries.player import last_race
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.races.rooms import Carry
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.settings.commands import LONGEST_ARGUMENT, Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.settings.texts import Texts
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.settle import Settler
from racebot.text.format import Count

ANN, BO, CY, DI = (Person(f"id-{name}", name.title()) for name in ("ann", "bo", "cy", "di"))
OPEN = Race(f"{CATEGORY}/now", CATEGORY, "open", GOAL, 1, recordable=True, recorded=False, result=None)

Ask = Callable[..., str]

NO_ODDS = Texts().odds_none.format(counts=Count(True))


def asking(ledger: Ledger, *, named: tuple[LeaderboardConfig, ...] = (), **given: Any) -> Ask:
    """Asks in a room of `GOAL`, after three races: Ann beats Bo twice and Bo her once, Cy never finishes.

    `given` are settings.
    """
    settings = Settings(**{"minimum_finishes": 0, **given})
    settler = Settler(ledger, RatingRules(LeaderboardConfig(settings.model), named))
    settler.add_past_races(
        [
            result("a", "ann bo", dnf="cy"),
            result("b", "ann bo", dnf="cy", after=1),
            result("c", "bo ann", dnf="cy", after=2),
        ],
        "import",
    )
    answers = Answers(settler, settings)

    def ask(
        command: Command, argument: str = "", *, by: Person = ANN, race: Race = OPEN, moderator: bool = False
    ) -> str:
        return spaced(answers.answer(ParsedCommand(command, argument), race, by, moderator=moderator))

    return ask


def asked(settler: Settler, command: Command, race: Race = OPEN) -> str:
    """Ask as Ann, with the default texts."""
    answers = Answers(settler, Settings(minimum_finishes=0))
    return answers.answer(ParsedCommand(command), race, ANN, moderator=False)


def add(ledger: Ledger, *races: RaceResult) -> None:
    """Rate more past races."""
    Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle"))).add_past_races(races, "import")


def any_orb(ledger: Ledger) -> Leaderboard:
    return next(board for board in ledger.leaderboards.all() if board.name == GOAL)


def points(ledger: Ledger, player: Person) -> int:
    return existing(ledger.standings.get(any_orb(ledger), player.id)).points


# !rating


def test_rating_shows_the_askers_points_place_and_record(ledger: Ledger) -> None:
    ask = asking(ledger)
    place = "1st" if points(ledger, ANN) > points(ledger, BO) else "2nd"
    assert ask(Command.RATING) == f"Ann: {points(ledger, ANN)}, {place} of 3 · 3 races, 2 wins, 3 finished"


def test_newcomer_starts_from_a_carried_over_rating(ledger: Ledger) -> None:
    asking(ledger)
    carry = Carry(GOAL, 1.0)
    season = LeaderboardConfig("thurstone-hurdle", name="S2", goals=("Season 2",), carry=carry)
    settler = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle"), (season,)))
    settler.add_past_races([result("s", "bo cy", after=9, goal="Season 2")], "import")
    told = asked(settler, Command.RATING, replace(OPEN, goal="Season 2"))
    assert told == f"Ann is new and starts at {points(ledger, ANN)}"
    assert points(ledger, ANN) != 1000


def test_an_unknown_name_is_answered_with_similar_stored_names(ledger: Ledger) -> None:
    ask = asking(ledger)
    assert ask(Command.RATING, "nn") == "No player has that name. Did you mean Ann?"
    assert ask(Command.WHY, "x@everyone") == "No player has that name."


@settings(max_examples=40)
@given(
    command=st.sampled_from([Command.RATING, Command.WHY, Command.VERSUS, Command.ODDS, Command.HELP]),
    argument=st.text(min_size=1, max_size=LONGEST_ARGUMENT)
    | st.sampled_from(["@everyone", "https://example.org/x", "Ann#9999x", "Anna", "{name}", "An%", "A_n"]),
)
def test_no_answer_repeats_an_argument_that_names_none(
    ledger: Ledger, command: Command, argument: str
) -> None:
    assume(not any(argument.casefold() in name for name in ("ann", "bo", "cy")))
    ask = asking(ledger)
    unknown = ask(command, "\N{SNOWMAN}")
    suggestions = {
        Texts().unknown_player.format(alike=Count(True), names=name) for name in ("Ann", "Bo", "Cy")
    }
    assert ask(command, argument) in {
        unknown,
        *suggestions,
        *(ask(command, name) for name in ("ann", "bo", "cy")),
    }


def test_punctuation_around_a_name_is_ignored_unless_it_is_part_of_it(ledger: Ledger) -> None:
    ask = asking(ledger)
    for typed in ("Bo?", "[bo]", '"Bo"', "<@bo>", "(Bo)?", "“bo”"):
        assert ask(Command.RATING, typed) == ask(Command.RATING, "bo")
        assert ask(Command.VERSUS, typed) == ask(Command.VERSUS, "bo")
    add(ledger, result("what", "bo? di", after=7))
    assert ask(Command.RATING, "Bo?").startswith("Bo?: ")


@pytest.mark.parametrize(
    ("name", "typed", "shown"), [("Wide  Name", "wide name", "Wide Name"), ("Łæß", "laess", "Łæß")]
)
def test_names_are_found_in_plain_letters_with_single_spaces(
    ledger: Ledger, name: str, typed: str, shown: str
) -> None:
    """The site and chat show one space."""
    ask = asking(ledger)
    racer = replace(entrant("x", time=1, user_id="id-x"), name=name)
    assert ask(Command.RATING, typed, race=replace(OPEN, entrants=(racer,))).startswith(shown), "in the room"
    add(ledger, result("d", after=4, entrants=(racer, entrant("bo", time=9))))
    assert ask(Command.RATING, typed).startswith(f"{shown}: "), "and in the ledger"


# Players with the same name


def test_a_discriminator_chooses_between_players_with_the_same_name(ledger: Ledger) -> None:
    ask = asking(ledger)
    first, second = (
        entrant("eve", time=time, user_id=f"id-eve-{time}", discriminator=f"000{time}") for time in (1, 2)
    )
    add(
        ledger,
        result("d", after=4, entrants=(first, second)),
        result("e", after=5, entrants=(second, entrant("bo", time=9))),
    )
    assert ask(Command.RATING, "eve#0001").startswith("Eve#0001: ")
    assert ask(Command.RATING, "EVE#0002").startswith("Eve#0002: ")
    assert ask(Command.RATING, "eve").startswith("Eve#0002: "), "the one with the most races"
    assert ask(Command.RATING, "eve#0003").startswith("No player has that name")
    assert "Eve#0001" in ask(Command.LEADERBOARD)
    room = replace(OPEN, entrants=(first, second))
    assert ask(Command.RATING, "eve#0001", race=room).startswith("Eve#0001: ")
    assert ask(Command.ODDS, race=room).count("Eve#000") == 2
    assert "Eve#0002" in ask(Command.WHY, "eve#0001")


def test_unlisted_player_learns_the_reason(ledger: Ledger) -> None:
    few = asking(ledger, minimum_finishes=5)
    assert few(Command.LEADERBOARD) == "No player is ranked yet. Finishes needed: 5"
    mine = points(ledger, ANN)  # after three finishes
    assert f"Ann: {mine}, 2 more finishes to be ranked" in few(Command.RATING)
    one = asking(ledger, minimum_finishes=4)
    assert f"Ann: {mine}, 1 more finish to be ranked" in one(Command.RATING)
    three = asking(ledger, minimum_finishes=3)
    assert f"Ann: {mine}, " in three(Command.RATING)
    assert three(Command.LEADERBOARD, by=CY).endswith(", 3 more finishes to be ranked")


def test_inactive_player_learns_the_reason(ledger: Ledger) -> None:
    asking(ledger)
    ask = asking(ledger, inactive_days=10)
    add(ledger, result("d", "bo di", after=24 * 30))
    assert "not listed after 29 days without a race" in ask(Command.RATING)
    assert "1st of 2" in ask(Command.RATING, "bo")


def test_rating_shows_the_pending_change_of_this_room(ledger: Ledger) -> None:
    ask = asking(ledger)
    room = seen(result("now", "cy ann", after=3, recorded=False))
    before = points(ledger, CY)
    answer = ask(Command.RATING, by=CY, race=room)
    (coming,) = [piece for piece in answer.split(" · ") if "if recorded" in piece]
    after, change = coming.removesuffix(" if recorded").split()
    assert change == f"(+{int(after) - before})"
    assert int(after) > before, "Cy won"
    assert f"Cy: {before}, " in answer


def test_player_in_the_room_is_preferred_among_players_with_one_name(ledger: Ledger) -> None:
    ask = asking(ledger)
    other = entrant("ann", time=9, user_id="id-other")
    add(ledger, result("d", after=4, entrants=(entrant("bo", time=1), other)))
    assert "3 races" in ask(Command.RATING, "ann", by=BO), "the player with the most races"
    assert "1 race," in ask(Command.RATING, "ann", by=BO, race=replace(OPEN, entrants=(other,)))


# !leaderboard


def test_leaderboard_shows_the_first_players(ledger: Ledger) -> None:
    ask = asking(ledger)
    best = sorted((ANN, BO, CY), key=lambda p: -points(ledger, p))
    told = [f"{n} {p.name} {points(ledger, p)}" for n, p in enumerate(best, start=1)]
    assert ask(Command.LEADERBOARD) == f"Any Orb, top 3 of 3: {' · '.join(told)}"
    names = " ".join(f"p{number}" for number in range(9))
    add(ledger, *(result(f"d{number}", names, after=9 + number) for number in range(3)))
    answer = ask(Command.LEADERBOARD, by=CY)
    assert answer.startswith("Any Orb, top 5 of 12: 1 P0 ")
    assert answer.split(" · ")[5].startswith("12 Cy ")


@pytest.mark.parametrize("named", ["Map Rando S3", "s3"])
def test_leaderboard_of_another_goal_can_be_named_in_full_or_in_part(ledger: Ledger, named: str) -> None:
    ask = asking(ledger)
    add(ledger, result("other", "di ann", after=9, goal="Map Rando  S3"))
    assert ask(Command.LEADERBOARD, named).startswith("Map Rando S3, top 2 of 2: 1 Di ")
    assert ask(Command.LEADERBOARD, "orb").startswith("Any Orb, ")
    for unknown in ("xyz", "xyz?"):
        assert ask(Command.LEADERBOARD, unknown) == Texts().unknown_leaderboard


# !why


def test_why_explains_place_parts_and_opponents_in_one_line(ledger: Ledger) -> None:
    answer = asking(ledger)(Command.WHY)
    last = existing(last_race(ledger, any_orb(ledger), ANN.id)).changes
    change = next(each.points_change for each in last if each.player == ANN.id)
    why = explanation_of(ledger, "orb/c", ANN)
    assert answer == (
        f"Ann {points(ledger, ANN)} (−{-change}), last race: 2nd of 2 (expected {why.expected:.1f})"
        f" · finishing +{why.finish_points} · place −{-why.place_points}"
        f" · cost: Bo ({why.pushed[0].chance:.0%} to beat)"
    )
    assert (why.finish_points or 0) + why.place_points == change


def explanation_of(ledger: Ledger, race: str, player: Person) -> Explanation:
    board = any_orb(ledger)
    row = existing(ledger.ratings.get(board, race))
    model = registry.create(board.model, board.parameters)
    return explain_race(model, TeamPolicy.IGNORE, ledger.races.find(race).result, row.changes)[player.id][1]


def test_why_names_the_teams_that_a_members_team_met(ledger: Ledger) -> None:
    settler = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle")))
    teams = {"bo": "Blues", "cy": "Blues", "ann": "Reds", "di": "Reds"}
    race = result("now", "bo cy ann di", dnf="ed", after=3, recorded=False)
    entrants = (replace(each, team=teams.get(each.name.lower(), "Greens")) for each in race.entrants)
    room = seen(replace(race, entrants=tuple(entrants)))
    answer = asked(settler, Command.WHY, room)
    assert re.search(r"2nd\s+of\s+2\b.*\bcost: Blues\s+\(50%\s+to\s+beat\)$", answer)


def test_why_of_a_dnf_and_a_dq_gives_the_chance_to_finish(ledger: Ledger) -> None:
    ask = asking(ledger)
    assert re.fullmatch(
        r"Cy \d+ \(−\d+\), last race: DNF; finishing was \d+% likely", ask(Command.WHY, by=CY)
    )
    room = seen(result("now", "ann", dnf="cy", dq="bo", after=3, recorded=False))
    assert re.search(r" if recorded: DQ; finishing was \d+% likely$", ask(Command.WHY, by=BO, race=room))
    change = ask(Command.WHY, race=room).partition("(")[2].partition(")")[0]
    assert ask(Command.WHY, race=room).partition(": ")[2] == f"the only finisher · finishing {change}"


def test_why_of_no_change_says_so_without_numbers_that_cancel_out(ledger: Ledger) -> None:
    ask = asking(ledger)
    room = seen(result("now", "ann bo di", after=3, recorded=False))
    assert re.fullmatch(
        r"Di 1000 \(±0\) if recorded: 3rd of 3 \(expected \d\.\d\) · last place never gains",
        ask(Command.WHY, race=room, by=DI),
    )


def test_a_deleted_account_takes_no_place_among_the_compared(ledger: Ledger) -> None:
    racers = (entrant("zed", time=1, user_id=None), entrant("bo", time=2), entrant("ann", time=3))
    shown = result("now", after=3, recorded=False, entrants=racers)
    assert ": 2nd of 2 (expected " in asking(ledger)(Command.WHY, race=seen(shown))


def test_why_of_a_dnf_names_opponents_if_the_model_compares_everyone(ledger: Ledger) -> None:
    ask = asking(ledger, model="trueskill")
    assert re.search(r": DNF \(expected \d\.\d\) · cost: ", ask(Command.WHY, by=CY))


# !odds


def field(*people: Person, **facts: object) -> Race:
    return replace(
        OPEN,
        entrants=tuple(entrant(p.name.lower(), "racing") for p in people),
        **facts,  # type: ignore[arg-type]
    )


def test_odds_add_up_and_newcomers_are_marked(ledger: Ledger) -> None:
    answer = asking(ledger)(Command.ODDS, race=field(ANN, BO, DI))
    assert re.fullmatch(r"Chances to win: \w+ \d+% · \w+ \d+% · Di \d+% \(new\)", answer)
    shares = list(map(int, re.findall(r"\d+", answer)))
    assert sum(shares) == pytest.approx(100, abs=2), "all but the chance that nobody finishes, rounded"
    assert shares == sorted(shares, reverse=True)


def test_odds_are_refused_after_the_start_without_known_entrants_and_for_teams(ledger: Ledger) -> None:
    ask = asking(ledger)
    for status in ("in_progress", "finished", "cancelled"):
        assert ask(Command.ODDS, race=field(ANN, BO, status=status)) == NO_ODDS
    assert ask(Command.ODDS, race=field(ANN)) == NO_ODDS
    assert ask(Command.ODDS, race=replace(OPEN, hidden=True)) == NO_ODDS
    team = replace(OPEN, entrants=(entrant("ann", "racing", team="x"), entrant("bo", "racing", team="y")))
    assert ask(Command.ODDS, race=team) == NO_ODDS


def test_team_rooms_have_odds_if_members_are_rated_one_by_one(ledger: Ledger) -> None:
    rules = RatingRules(LeaderboardConfig("thurstone-hurdle", teams=TeamPolicy.INDIVIDUAL))
    team = replace(OPEN, entrants=(entrant("ann", "racing", team="x"), entrant("bo", "racing", team="y")))
    alone, members = (asked(Settler(ledger, rules), Command.ODDS, room) for room in (field(ANN, BO), team))
    assert alone == members
    assert alone.count("%") == 2


# !vs


def test_comparison_shows_record_points_and_chance(ledger: Ledger) -> None:
    ask = asking(ledger)
    assert ask(Command.VERSUS, "bo").startswith(
        f"Ann vs Bo: 2–1 in 3 races · {points(ledger, ANN)} and {points(ledger, BO)} · "
    )
    assert ask(Command.VERSUS, "bo").endswith("% to beat Bo next time")


def test_answers_link_the_page_of_the_leaderboard_and_of_both_players(ledger: Ledger) -> None:
    ask = asking(ledger, pages_url="https://example.org")
    assert ask(Command.LEADERBOARD).endswith(" · https://example.org/leaderboards/orb/any-orb.html")
    page = "https://example.org/players/id-ann/orb/any-orb.html?vs=id-bo#vs-id-bo"
    assert ask(Command.VERSUS, "bo").endswith(page)


def test_comparison_needs_another_player(ledger: Ledger) -> None:
    ask = asking(ledger)
    assert ask(Command.VERSUS) == ask(Command.VERSUS, "ann") == "Write !vs name."


# !ratings


def test_help_lists_the_commands(ledger: Ledger) -> None:
    ask = asking(ledger)
    assert ask(Command.HELP) == (
        f"racebot {__version__}: !rating [name], !why [name], !leaderboard, !vs name, !odds,"
        " !ratings hide me. Ratings count once a race is recorded."
    )
    scored = asking(ledger, leaderboards=[{"name": GOAL, "goals": [GOAL], "scoring": "sgl-2025"}])(
        Command.HELP
    )
    assert ", !odds, !score [name], !need [name], !ratings hide me." in scored
    assert ask(Command.HELP, moderator=True).endswith(
        " · Moderators: !ratings off, !ratings on, !ratings redo, !ratings count, !ratings skip,"
        " !ratings event name"
    )


# Everything


def test_two_leaderboards_are_named_and_common_answers_are_given_once(ledger: Ledger) -> None:
    asking(ledger)
    named = tuple(
        LeaderboardConfig(m, name=n, goals=(GOAL,)) for m, n in (("trueskill", "X"), ("thurstone", "Y"))
    )
    settler = Settler(ledger, RatingRules(LeaderboardConfig("trueskill"), named))
    apply_settings(settler)
    assert asked(settler, Command.VERSUS) == "Write !vs name."
    assert asked(settler, Command.ODDS, seen()) == NO_ODDS
    for command in (Command.RATING, Command.LEADERBOARD):
        first, second = re.findall(r"\bX\b|\bY\b", asked(settler, command))
        assert (first, second) == ("X", "Y")


@pytest.mark.parametrize(("entrants", "named"), [(8, 8), (9, 8), (40, 8)])
def test_odds_name_the_best_and_count_the_others(ledger: Ledger, entrants: int, named: int) -> None:
    people = [Person(f"id-{number}", f"Racer {number}") for number in range(entrants)]
    phrases = asking(ledger)(Command.ODDS, race=field(*people)).partition(": ")[2].split(" · ")
    if others := entrants - named:
        assert phrases.pop() == f"and {others} more"
    assert len(phrases) == named


def test_an_answer_is_one_message_of_the_sites_length(ledger: Ledger) -> None:
    names = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}" + "w" * 40 for n in range(60)]
    add(ledger, result("big", " ".join(names), after=5))
    ask = asking(ledger)
    people = [Person(f"id-{name}", name.title()) for name in names]
    for answer in (
        ask(Command.LEADERBOARD),
        ask(Command.ODDS, race=field(*people)),
        ask(Command.WHY, by=people[30]),
    ):
        assert 100 < len(answer) <= 1000
        assert "\n" not in answer


def test_before_a_goals_first_race_everybody_is_new(ledger: Ledger) -> None:
    ask = asking(ledger)
    room = replace(OPEN, goal="Another goal")
    assert ask(Command.RATING, race=room).startswith("Ann is new and starts at 1000")
    assert ask(Command.WHY, race=room) == "Ann has no rated race yet."
    assert "no rated race together" in ask(Command.VERSUS, "bo", race=room)


def test_commands_are_silent_in_races_of_a_goal_that_is_not_rated(ledger: Ledger) -> None:
    rules = RatingRules(LeaderboardConfig("trueskill"), goals={CATEGORY: frozenset({"Other"})})
    assert asked(Settler(ledger, rules), Command.RATING) == ""
