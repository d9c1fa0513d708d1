"""`racebot evaluate` and `racebot tune` as an analyst uses them."""

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import archive
from builders import result
from rich.console import Console
from typer.testing import CliRunner

from racebot.analysis import verdict
from racebot.cli import studies_tables
from racebot.cli.commands import app
from racebot.cli.common import print_json
from racebot.errors import ModelError, NoSuchEntryError, RacebotError
from racebot.files.read import read_races
from racebot.ledger.store import Ledger
from racebot.ratings.registry import MODELS, create
from racebot.settings.sources import load
from racebot.standings.improve import earlier_races, rated_history
from racebot.study.evaluate import PRESETS, Entry, Margin, evaluate
from racebot.study.history import History, at_start

pytestmark = pytest.mark.usefixtures("restored_logging")

runner = CliRunner()


@pytest.fixture
def season(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "season.json"
    path.write_text(json.dumps(archive(80)))
    return path


def run(*arguments: object) -> str:
    done = runner.invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def evaluate_json(*arguments: object) -> list[dict[str, Any]]:
    return json.loads(run("evaluate", *arguments, "--json"))


def refuse(*arguments: object) -> BaseException:
    done = runner.invoke(app, [str(argument) for argument in arguments])
    assert done.exception is not None
    return done.exception


def test_evaluate_begins_with_the_verdict_and_prints_the_rest_on_request(season: Path) -> None:
    models = ("--model", "plackett-luce", "--model", "trueskill")
    text = run("evaluate", season, *models)
    assert text.splitlines()[0].startswith(("plackett-luce", "trueskill"))
    assert "of pairs in the wrong order" in " ".join(text.split())
    assert "±" in text
    assert "winner" not in text
    full = run("evaluate", season, *models, "--full")
    for word in ("misordered", "kendall", "winner", "bin 5"):
        assert word in full
    assert max(map(len, full.splitlines())) <= 80


@pytest.mark.parametrize(
    ("error", "others", "words"),
    [
        (0.005, "b", "a predicts best"),
        (0.015, "b", "a and b predict equally well"),
        (0.015, "bc", "a, b and c predict equally well"),
        (0.015, "bcdef", "Too few races to tell 6 models apart"),
    ],
)
def test_models_within_two_errors_are_equal(times: Path, error: float, others: str, words: str) -> None:
    history = History.of(read_races(times).results)
    report = evaluate([history], [Entry("a", "multielo"), Entry("b", "elo-ffa")])[0]
    best, margin = Margin(0.0, 0.0), Margin(0.02, error)
    margins = {"a": (best, best)} | dict.fromkeys(others, (margin, margin))
    assert words in verdict(replace(report, best="a", margins=margins))


@pytest.mark.parametrize(
    ("width", "terminal", "encoding"),
    [(100, True, "utf-8"), (99, True, "utf-8"), (100, False, "utf-8"), (100, True, "ascii")],
)
def test_wide_terminals_show_how_far_models_are_behind_the_best(
    times: Path, width: int, terminal: bool, encoding: str
) -> None:
    """Solid up to two standard errors below the difference, light up to two above; one race has no error."""
    report = evaluate([History.of(read_races(times).results)], [Entry(key, "elo-ffa") for key in "abcd"])[0]
    differences = {"a": (0.0, 0.0), "b": (0.02, 0.005), "c": (0.01, 0.02 / 3), "d": (0.03, math.nan)}
    margins = {label: (Margin(*each), Margin(0.0, 0.0)) for label, each in differences.items()}
    printed = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=printed, width=width, force_terminal=terminal, color_system=None)
    studies_tables.evaluations(console, [("", replace(report, best="a", margins=margins))], full=False)
    printed.seek(0)
    lines = [line for line in printed if line[:2] in {"a ", "b ", "c ", "d "}]
    bars = {"a": (0, 0), "b": (8, 16), "c": (0, 19), "d": (24, 0)}
    drawn = bars if (width, terminal, encoding) == (100, True, "utf-8") else dict.fromkeys("abcd", (0, 0))
    assert {line[0]: (line.count("█"), line.count("░")) for line in lines} == drawn


COMMANDS: list[tuple[str, ...]] = [
    ("evaluate", "FILE"), ("rate", "FILE"), ("odds", "FILE", "id-1", "id-2"), ("iterate", "FILE"),
    ("scores", "FILE"),
    ("tune", "elo-ffa", "FILE", "--only", "rates", "--candidates", "8", "--generations", "2"),
]  # fmt: skip


@pytest.fixture
def times(tmp_path: Path) -> Path:
    """Twelve races of four with times."""
    path = tmp_path / "stdin.csv"  # as standard input is called
    lines = [f"r{n},id-{k},{100 + (k * n) % 7 + k}" for n in range(12) for k in range(4)]
    path.write_text("\n".join(["race,player,time", *lines]))
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_study_draws_its_answer(tmp_path: Path, times: Path, command: tuple[str, ...]) -> None:
    pytest.importorskip("matplotlib")
    name = "_$\\frac$ 山\U00010ffd"  # a formula, and letters that Matplotlib's fonts lack
    times.write_text(times.read_text().replace("id-1", name))
    command = tuple(each.replace("FILE", str(times)).replace("id-1", name) for each in command)
    run(*command, "--plot", tmp_path / "a.svg")
    assert ("山" in (tmp_path / "a.svg").read_text()) == (command[0] not in {"evaluate", "tune"})


def test_a_picture_without_a_name_is_opened_and_other_endings_are_refused(times: Path, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    done = runner.invoke(app, ["rate", str(times), "--plot"], catch_exceptions=False)
    assert opened == [Path(done.stderr.split()[-1]).as_uri()]  # it opened in no browser, so its path is told
    assert "name a picture" in str(refuse("rate", times, "--plot", "a.gif"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_study_reads_standard_input_once(times: Path, command: tuple[str, ...]) -> None:
    piped = [each.replace("FILE", "-") for each in command]
    done = runner.invoke(app, piped, input=times.read_bytes(), catch_exceptions=False)
    assert done.stdout == run(*(each.replace("FILE", str(times)) for each in command))
    assert done.stderr.count("12 races of 4") == 1


def test_all_models_are_evaluated_and_the_others_named_with_the_reason(times: Path) -> None:
    done = runner.invoke(app, ["evaluate", str(times), "--model=all", "--json"], catch_exceptions=False)
    labels = {entry["label"] for entry in json.loads(done.stdout)}
    two_only = {"elo-exponential", "elo-gaussian"}
    assert labels == set(MODELS) - two_only
    for key in (*two_only, "iterated-elo"):
        assert f"{key}: skipped" in done.stderr


def test_json_has_one_entry_per_model_with_the_named_figures(season: Path) -> None:
    (entry,) = evaluate_json(season, "--model", "plackett-luce", "--param", "initial_rating=0.5")
    assert entry["model"] == "plackett-luce"
    assert entry["parameters"]["initial_rating"] == 0.5
    assert {"races", "pairs", "misordered", "log_loss", "unfinished_gains", "winner_losses"} <= entry.keys()
    # Counted from the file by hand: recorded races in which at least two accounts can be compared.
    comparable = 0
    for race in json.loads(season.read_text()):
        places = [e["place"] for e in race["entrants"] if e["user_id"]]
        comparable += race["recorded"] and len(set(places)) > 1 and min(places) < 9999
    assert entry["races"] == comparable
    assert 0 < entry["misordered"] < 1
    assert entry["unfinished_gains"] == 0


def test_each_file_can_be_judged_on_its_own(season: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(archive(40, seed=4, year=2024)))
    models = ("--model", "plackett-luce", "--model", "elo-ffa")
    apart = evaluate_json(season, other, "--each", *models)
    alone = [
        {"file": str(file)} | entry for file in (season, other) for entry in evaluate_json(file, *models)
    ]
    assert apart == alone
    text = run("evaluate", season, other, "--each", *models)
    text = text.replace("\n", "")  # long names of folders wrap
    assert "season.json: " in text and "other.json: " in text


def test_published_presets_run_on_any_file(times: Path) -> None:
    entries = evaluate_json(times, "--preset", "published")
    assert [entry["label"] for entry in entries] == list(PRESETS)
    assert entries[0]["published"] == 0.2396


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "plackett-lucy"], "did you mean 'plackett-luce'?"),
        (["--model", "plackett-luce", "--param", "eta=1"], "none of plackett-luce has it"),
        (["--model", "plackett-luce", "--param", "rates"], "not of the form name=value"),
        (["--model", "plackett-luce", "--param", "rates=fast"], "rates='fast' is not a list of numbers"),
        (["--preset", "thurston"], "did you mean 'thurstone'?"),
        (["--model", "trueskill", "--model", "trueskill"], "the label 'trueskill' is taken"),
        (["--model", "iterated-elo"], "whole history at once"),
        (["--since", "2999-01-01"], "no race is left to judge"),
        (["--leaderboard", "nowhere"], "from a file: use --goal"),
    ],
)
def test_invalid_evaluations_are_reported(season: Path, arguments: list[str], words: str) -> None:
    error = refuse("evaluate", season, *arguments)
    assert isinstance(error, RacebotError)
    assert words in str(error)


def test_study_of_an_empty_ledger_names_it(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "empty.db").close()
    error = refuse("evaluate", "--database", tmp_path / "empty.db")
    assert isinstance(error, NoSuchEntryError) and "empty.db" in str(error)


def test_ledger_is_studied_if_no_file_is_given(season: Path) -> None:
    run("import", season)
    models = ("--model", "plackett-luce")
    assert evaluate_json(*models) == evaluate_json(season, *models)
    assert isinstance(refuse("evaluate", "--leaderboard", "nowhere"), NoSuchEntryError)


@pytest.mark.parametrize("settings", ["parameters = { level = 0.2 }", 'model = "trueskill"', ""])
def test_a_leaderboard_is_studied_with_its_own_settings(tmp_path, monkeypatch, settings: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "racebot.toml").write_text(
        f'category = "c"\n[[leaderboards]]\nname = "Cup"\ncategory = "c"\ngoals = ["Cup"]\n{settings}\n'
    )
    # All finish, so that the import chooses a parameter of its own.
    rows = [
        f"r{n},{name},{1 + (n + at) % 3}" for n in range(60) for at, name in enumerate(("Ann", "Bo", "Cy"))
    ]
    (tmp_path / "cup.csv").write_text("race,player,place\n" + "\n".join(rows))
    run("import", "cup.csv", "--goal", "Cup")
    listed = {
        each["name"]: each["points"] for each in json.loads(run("leaderboard", "Cup", "--json"))[0]["players"]
    }
    rated = {each["name"]: each["points"] for each in json.loads(run("rate", "--json"))}
    assert rated == listed
    judged = {each["model"]: each["parameters"] for each in evaluate_json()}
    model = "trueskill" if "trueskill" in settings else "thurstone-hurdle"
    with Ledger.open(load().database, create=False) as ledger:
        (board,) = ledger.leaderboards.all()
        assert judged[model] == judged[model] | dict(board.parameters)


def test_a_leaderboard_is_judged_from_the_ratings_that_it_carries_over(tmp_path, monkeypatch) -> None:
    """Over any chain; a race of an earlier season after the first race of this one changes nothing."""
    monkeypatch.chdir(tmp_path)
    tables = ['category = "c"']
    for n, carry in enumerate(("", 'from = "S0", factor = 0.9', 'from = "S1", factor = 0.5, most_races = 5')):
        tables.append(f'[[leaderboards]]\nname = "S{n}"\ncategory = "c"\ngoals = ["S{n}"]')
        tables += [f"carry_over = {{ {carry} }}"] if carry else []
        days = [f"{2023 + n}-0{1 + day % 9}-1{day // 9}" for day in range(30)]
        names = ["Ann", "Bo", "Cy"] if n == 1 else ["Ann", "Bo", "Cy", "Di"]
        lines = [
            f"{d},{d},{p},{1 + (at + at * k) % 5}" for k, d in enumerate(days) for at, p in enumerate(names)
        ]
        late = ["2026-01-01,2026-01-01,Di,1", "2026-01-01,2026-01-01,Ann,2"] if n == 1 else []
        Path(f"S{n}.csv").write_text("\n".join(["race,date,player,place", *lines, *late]))
    Path("racebot.toml").write_text("\n".join(tables))
    for n in range(3):
        run("import", f"S{n}.csv", "--goal", f"S{n}")
    with Ledger.open(load().database, create=False) as ledger:
        board = next(each for each in ledger.leaderboards.all() if each.name == "S2")
        carried, history = ledger.leaderboards.carried(board), rated_history(ledger, board)
        model = create(board.model, board.parameters)
        states = at_start(model, history, earlier_races(ledger, board))
    assert carried.keys() == {"Ann", "Bo", "Cy"}
    expected = [carried.get(player, model.initial()) for player in history.players]
    assert np.allclose(states, np.array(expected))
    (judged,), (afresh,) = (
        evaluate_json(*where, "--model=trueskill") for where in (["--leaderboard=S2"], ["S2.csv"])
    )
    assert judged["races"] == afresh["races"] and judged["log_loss"] != afresh["log_loss"]
    refused = runner.invoke(app, ["evaluate", "--leaderboard=S2", "--model=previous-rank"])
    assert isinstance(refused.exception, ModelError) and "previous-rank: skipped" in refused.stderr


def test_races_before_since_only_train(season: Path) -> None:
    dates = sorted(race["ended_at"] for race in json.loads(season.read_text()))
    (whole,), (late,) = (
        evaluate_json(season, "--model", "plackett-luce", *more) for more in ([], ["--since", dates[40][:10]])
    )
    assert 0 < late["races"] < whole["races"]


def test_tune_prints_settings_to_paste(season: Path) -> None:
    text = run("tune", "plackett-luce", season, "--generations", 2, "--candidates", 16, "--only", "rates")
    assert "later, judged" in text
    assert "±" in text
    assert 'model = "plackett-luce"' in text
    assert "parameters = { rates = [" in text


def test_search_that_finds_nothing_better_prints_no_settings(season: Path) -> None:
    """A search that starts from its own optimum."""
    arguments = ("tune", "elo-ffa", season, "--candidates", 16)
    tuned = json.loads(run(*arguments, "--json"))
    given = [f"--param={name}={value}" for name, value in tuned["parameters"].items()]
    again = json.loads(run(*arguments, *given, "--json"))
    assert again["earlier"]["difference"] == pytest.approx(0, abs=1e-4)
    assert not again["later"]["recommended"]
    if again["earlier"]["difference"] >= 0:
        text = run(*arguments, *given)
        assert "nothing better" in text
        assert "parameters =" not in text


def test_one_model_can_be_evaluated_with_two_sets_of_parameters(season: Path) -> None:
    models = ("--model=tie=trueskill", "--model=trueskill", "--preset=trueskill-tuned")
    entries = evaluate_json(season, *models, "--param=tie:unfinished=tie")
    assert [(entry["label"], entry["parameters"]["unfinished"]) for entry in entries] == [
        ("trueskill-tuned", "tie"),
        ("tie", "tie"),
        ("trueskill", "censored"),
    ]


def test_configured_model_is_evaluated_with_its_settings(season: Path, monkeypatch) -> None:
    monkeypatch.setenv("RACEBOT_MODEL", "plackett-luce")
    monkeypatch.setenv("RACEBOT_PARAMETERS", "rates=0.4")
    (entry,) = evaluate_json(season, "--model", "plackett-luce")
    assert entry["parameters"]["rates"] == [0.4]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve games in which Ann beats Bo, always with the Giants."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "games.csv"
    lines = [
        f"g{day},2026-01-{day + 1:02d},{player},{place},{factor}"
        for day in range(12)
        for player, place, factor in (("Ann", 1, "Giants"), ("Bo", 2, "Witches"))
    ]
    path.write_text("race,ended_at,player,place,factor\n" + "\n".join(lines) + "\n")
    return path


def test_a_file_is_rated_without_a_database(table: Path) -> None:
    best, second = json.loads(run("rate", table, "--json"))
    assert (best["name"], best["races"], second["name"]) == ("Ann", 12, "Bo")
    assert best["points"] > second["points"]
    text = run("rate", table, "--model=trueskill", "--limit=1")
    assert "Ann" in text
    assert "Bo" not in text
    assert not list(table.parent.glob("*.db"))


def test_odds_of_a_file_and_of_a_leaderboard_agree(table: Path) -> None:
    """Names are found in any case and without accents. Chances of a pair add up, as do places."""
    table.write_text(table.read_text().replace("Ann", "Ánn"))
    ann, bo = json.loads(run("odds", table, "ann", "BO", "--json"))
    assert (ann["name"], bo["name"]) == ("Ánn", "Bo")
    assert ann["win_chance"] > bo["win_chance"]
    assert ann["before"] == [None, pytest.approx(1 - bo["before"][0])]
    assert ann["expected_place"] + bo["expected_place"] == pytest.approx(3)
    run("import", table)
    assert json.loads(run("odds", "Ann", "Bo", "--json")) == [ann, bo]
    assert "Placed before" in run("odds", table, "Ann", "Bo")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["games.csv", "Ann"], "odds need two players"),
        (["games.csv", "AN", "Bo"], "did you mean 'Ann'"),
        (["games.csv", "Ann", "ann"], "named twice"),
        (["Ann", "Bo", "--model=trueskill"], "a leaderboard has its own model"),
    ],
)
@pytest.mark.usefixtures("table")
def test_odds_that_cannot_be_given_are_refused(arguments: list[str], words: str) -> None:
    assert words in str(refuse("odds", *arguments))


def test_team_races_of_a_file_need_a_rule_and_a_model_that_can_follow_it(table: Path) -> None:
    rows = table.read_text().replace("factor", "team")
    table.write_text(rows.replace("g0,2026-01-01,Bo,2", "g0,2026-01-01,Cy,1,Giants\ng0,2026-01-01,Bo,2"))
    missing = str(refuse("rate", table, "--model=elo-ffa"))
    assert "12 races of teams left out: use --teams individual" in missing
    assert len(json.loads(run("rate", table, "--json"))) == 3  # by teams, as the default model can
    assert len(json.loads(run("rate", table, "--teams=individual", "--json"))) == 3
    assert len(json.loads(run("rate", table, "--teams=team", "--model=trueskill", "--json"))) == 3
    able = ("--teams=team", "--model=elo-ffa")
    for command in (
        ["rate", table],
        ["evaluate", table],
        ["tune", "elo-ffa", table],
        ["odds", table, "Ann", "Bo"],
    ):
        arguments = able[: 1 if command[0] == "tune" else 2]
        assert "elo-ffa does not rate teams" in str(refuse(*command, *arguments))
    assert (
        "elo-ffa: skipped: elo-ffa does not rate teams"
        in runner.invoke(app, ["evaluate", str(table), "--teams=team", "--model=all"]).stderr
    )


def test_names_of_models_are_in_one_piece_on_80_columns(table: Path) -> None:
    text = run("evaluate", table, "--model=all")
    assert max(map(len, text.splitlines())) <= 80
    assert {line.split()[0] for line in text.splitlines() if " ± ." in line} < set(MODELS)
    assert all(f"\n{key} " in text for key in MODELS)
    assert "thurstone-hurdle, 12 races\n" in run("rate", table)


def test_iterated_elo_rates_players_and_factors(table: Path) -> None:
    found = json.loads(run("iterate", table, "--param=minimum_games=0", "--json"))
    assert [row["name"] for row in found["players"]] == ["Ann", "Bo"]
    assert [row["name"] for row in found["factors"]] == ["Giants", "Witches"]
    assert found["factors"][0]["races"] == 12
    text = run("iterate", table)
    assert "Giants" in text


def test_figures_without_any_case_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    history = History.of([result("r", "ann bo", dnf="cy")])
    report = evaluate([history], [Entry("elo", "pairwise-elo"), Entry("ts", "trueskill")])[0]
    print_json(
        studies_tables.evaluation_json([("", report)], dict(zip(["elo"], PRESETS.values(), strict=False)))
    )

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    elo, ts = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert elo["views"]["best"]["misordered"] is None
    assert (elo["races"], elo["pairs"]) == (1, 3)
    assert elo["parameters"]["unfinished"] == "unobserved"
    assert {"published", "rerun"} <= elo.keys()
    assert "published" not in ts
    assert elo["comparisons"] == ts["comparisons"]
    assert None in elo["reliability"]["predicted"]
