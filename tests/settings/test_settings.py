import os
from dataclasses import replace
from pathlib import Path

import pytest
from builders import CATEGORY, existing, room

from racebot.errors import SettingsError
from racebot.ledger.rows import Leaderboard
from racebot.queries.standings import Listing, listing_of
from racebot.races.outcome import TeamPolicy
from racebot.scoring.rules import rules_of
from racebot.settings.model import Settings
from racebot.settings.sources import load
from racebot.standings.counting import rating_rules

SECRET = "hush-hush-1234"
TOKEN = "AbC-dEf_9"
WEBHOOK = f"https://discord.com/api/webhooks/123456789/{TOKEN}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"RACEBOT_{name}", value)


def toml(folder: Path, text: str) -> None:
    (folder / "racebot.toml").write_text(text, encoding="utf-8")


def problems() -> tuple[str, ...]:
    """Return the problems that `load` reports, and check that none holds a secret."""
    with pytest.raises(SettingsError) as refused:
        load()
    found = refused.value.problems
    assert found
    assert all(problem and "\n" not in problem for problem in found)
    assert str(refused.value) == "\n".join(found)
    assert SECRET not in f"{refused.value} {refused.value!r} {refused.value.__cause__!r}"
    return found


# Good settings


def test_environment_alone_can_configure_a_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(
        monkeypatch,
        CATEGORY="orb",
        CLIENT_ID="bot",
        CLIENT_SECRET=SECRET,
        SITE="http://localhost:8000/",
        GOALS="Any Orb; All Orbs ;",
        DATABASE="/var/lib/orb.db",
        MODEL="pairwise-elo",
        PARAMETERS="rates=0.2; dummy=none;",
        TEAM_RACES="individual",
        ANNOUNCE="false",
        QUIET_SECONDS="2.5",
        MINIMUM_FINISHES="3",
        INACTIVE_DAYS="60",
        LOG_LEVEL="debug",
    )
    settings = load()
    assert settings.site == "http://localhost:8000"
    assert settings.goals == ["Any Orb", "All Orbs"]
    assert settings.database == Path("/var/lib/orb.db")
    assert settings.parameters == {"rates": "0.2", "dummy": "none"}
    assert settings.team_races is TeamPolicy.INDIVIDUAL
    assert (settings.announce, settings.quiet_seconds, settings.log_level) == (False, 2.5, "debug")
    assert (settings.minimum_finishes, settings.inactive_days) == (3, 60)
    (category,) = settings.required_categories()
    assert (category.slug, category.client_id, category.goals) == ("orb", "bot", ["Any Orb", "All Orbs"])
    assert existing(category.client_secret).get_secret_value() == SECRET
    rules = rating_rules(settings)
    assert [b.name for b in rules.leaderboards(room("Any Orb", "orb"))] == ["Any Orb"]
    assert rules.leaderboards(room("No Orbs", "orb")) == []


def test_lists_and_tables_can_be_json(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, MODEL="plackett-luce", PARAMETERS='{"rates": [0.6, 0.1, 0.05], "dummy": null}')
    assert load().parameters == {"rates": [0.6, 0.1, 0.05], "dummy": None}
    for text, goals in (('["Any; Orb", "All"]', ["Any; Orb", "All"]), ("Any Orb", ["Any Orb"]), (" ; ", [])):
        environment(monkeypatch, GOALS=text)
        assert load().goals == goals


def test_an_empty_variable_is_not_set_and_case_does_not_matter(folder: Path, monkeypatch) -> None:
    (folder / ".env").write_text("RACEBOT_LIST_EVERY=12\n")
    environment(monkeypatch, QUIET_SECONDS="", GOALS="", LIST_EVERY="")
    monkeypatch.setenv("racebot_category", "orb")
    settings = load()
    assert (settings.quiet_seconds, settings.list_every, settings.goals) == (10.0, 12.0, [])
    assert settings.category == "orb"


# Where settings come from


def test_the_nearer_source_wins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toml(folder, 'quiet_seconds = 1\nlist_every = 11\nrooms_every = 21\ncategory = "toml"\n')
    (folder / ".env").write_text("RACEBOT_LIST_EVERY=12\nRACEBOT_ROOMS_EVERY=22\nRACEBOT_CATEGORY=file\n")
    environment(monkeypatch, ROOMS_EVERY="23", CATEGORY="env")
    settings = load(category="given", database=None)
    assert (settings.quiet_seconds, settings.list_every, settings.rooms_every) == (1, 12, 23)
    assert settings.category == "given"
    assert load().category == "env"


def test_env_file_may_hold_variables_of_other_programs_and_a_quoted_secret(folder: Path) -> None:
    others = "POSTGRES_PASSWORD=x\nexport CATEGORY=else\nsite=y\n"
    (folder / ".env").write_text(f"RACEBOT_CATEGORY=orb\n{others}RACEBOT_CLIENT_SECRET='a$b#c \"d'\n")
    assert (load().category, load().site) == ("orb", "https://racetime.gg")
    assert secret_of(folder) == 'a$b#c "d'


def test_settings_can_be_in_another_folder_and_file(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / ".env").write_text("RACEBOT_CATEGORY=orb\nRACEBOT_CONFIG=orb.toml\n")
    (folder / "sub" / "orb.toml").write_text("quiet_seconds = 3\n")
    settings = load(folder / "sub")
    assert (settings.category, settings.quiet_seconds) == ("orb", 3)


# Each bad value

BAD = {
    "SITE": [
        "racetime.gg",
        "ftp://racetime.gg",
        "https://racetime.gg/smr",
        "https://",
        "https://a b",
        "https://a:99999",
        "https://[::::]",
    ],
    "CATEGORY": ["Super Metroid", "smr/", "SMR", "-smr", "https://racetime.gg/smr"],
    "TEAM_RACES": ["yes", "teams"],
    "ANNOUNCE": ["sometimes", "2"],
    "INFO_BLOCK": ["never", "below"],
    "QUIET_SECONDS": ["ten", "-1", "601", "nan"],
    "INACTIVE_DAYS": ["-1", "long", "36501"],
    "PAGES_TITLE": ["  ", "x" * 61],
    "LOG_LEVEL": ["loud", "INFO "],
    "PARAMETERS": ["rates", "{rates: 1}", '{"rates": ', '{"level": NaN}', '{"level": 1e999}'],
    "GOALS": ['["Any Orb"', '["Any Orb", 5]'],
    "CATEGORIES": ["orb", "[1]"],
    "COMMAND_PREFIX": ["a", "@"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_bad_value_is_one_line_with_variable_value_and_remedy(monkeypatch, name: str, value: str) -> None:
    environment(monkeypatch, **{name: value})
    (problem,) = problems()
    assert f"RACEBOT_{name}" in problem
    if name != "CATEGORIES":
        mend = str(Settings.model_fields[name.lower()].description)
        assert repr(value) in problem or len(value) > 24
        assert problem.endswith(f": set it to {mend}")
        assert "Input should" not in problem
        assert "pattern" not in problem


def test_all_problems_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(
        monkeypatch, SITE="racetime.gg", QUIET_SECONDS="ten", MODLE="x", MODEL="elo", CLIENT_SECRET=SECRET
    )
    found = problems()
    assert len(found) == 4
    for name in ("RACEBOT_SITE=", "RACEBOT_QUIET_SECONDS=", "RACEBOT_MODLE ", "RACEBOT_MODEL='elo'"):
        assert sum(problem.startswith(name) for problem in found) == 1


def test_a_value_on_the_command_line_beats_a_bad_one_and_is_named_if_it_is_bad(monkeypatch) -> None:
    environment(monkeypatch, CATEGORY="Super Metroid")
    assert load(category="orb").category == "orb"
    with pytest.raises(SettingsError, match=r"^--category='Super Orb': [^\n]*$"):
        load(category="Super Orb")


# What `run` needs


def test_a_missing_half_of_the_credentials_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, CATEGORY="orb", CLIENT_ID="bot")
    with pytest.raises(SettingsError, match="RACEBOT_CLIENT_SECRET is not set: "):
        load().required_categories()


def test_a_category_alone_is_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, CATEGORY="orb")
    assert load().read_only() == ["orb"]
    assert [category.client_id for category in load().required_categories()] == [None]


def test_without_any_settings_racebot_points_to_setup() -> None:
    with pytest.raises(SettingsError, match="`racebot setup`"):
        load().required_categories()


# racebot.toml

TWO = f"""
[[categories]]
slug = "orb"
client_id = "bot"
client_secret = "{SECRET}"

[[categories]]
slug = "cup"
client_id = "tob"
client_secret = "{SECRET}"
goals = ["Any Cup"]
"""


def test_toml_can_have_several_categories(folder: Path) -> None:
    toml(folder, TWO)
    settings = load()
    assert [(c.slug, c.client_id, c.goals) for c in settings.required_categories()] == [
        ("orb", "bot", []),
        ("cup", "tob", ["Any Cup"]),
    ]
    rules = rating_rules(settings)
    assert rules.leaderboards(room("All Cups", "cup")) == []
    assert [b.name for b in rules.leaderboards(room("All Cups", "orb"))] == ["All Cups"]


def test_a_leaderboard_has_rules_of_scoring_and_a_cut(folder: Path) -> None:
    table = "[[leaderboards]]\nname = '{}'\ngoals = ['g']\ncategory = 'orb'\n{}\n"
    named = "scoring = 'sgl-2025'\ncut = 64"
    parts = "scoring = { rules = 'standard-s9', first = 7, cut = 32 }\norder_by = 'rating'"
    toml(folder, "category = 'orb'\n" + table.format("X", named) + table.format("Y", parts))
    x, y = (listing_of(load(folder), Leaderboard("orb", name, ("g",), "", {}, "")) for name in "XY")
    assert x.scoring == rules_of("sgl-2025", cut=64)
    assert y.scoring == rules_of("standard-s9", first=7, cut=32)
    assert (x.by_rating, y.by_rating) == (False, True)


def test_named_leaderboards_inherit_the_default_model(folder: Path) -> None:
    toml(
        folder,
        """
        model = "pairwise-elo"
        parameters = { rates = [0.5], dummy = 0.25 }

        [[leaderboards]]
        name = "Season"
        goals = ["Any Orb", "All Orbs"]
        parameters = { rates = [0.1] }
        minimum_finishes = 5
        inactive_days = 90

        [[leaderboards]]
        name = "Teams"
        goals = ["Co-op"]
        category = "orb"
        model = "trueskill"
        team_races = "team"
        """,
    )
    settings = load()
    season, teams = rating_rules(settings).named
    assert (season.name, season.goals, season.model) == ("Season", ("Any Orb", "All Orbs"), "pairwise-elo")
    assert season.parameters == {"rates": [0.1], "dummy": 0.25}, "those of the default model, one changed"
    assert (teams.model, teams.parameters, teams.teams) == ("trueskill", {}, TeamPolicy.TEAM)
    assert teams.category == "orb"
    assert (settings.leaderboards[0].minimum_finishes, settings.leaderboards[0].inactive_days) == (5, 90)


def test_a_leaderboard_may_leave_out_the_teams_that_the_others_rate(folder: Path, monkeypatch) -> None:
    environment(monkeypatch, MODEL="trueskill", TEAM_RACES="team")
    toml(folder, "[[leaderboards]]\nname = 'X'\ngoals = ['g']\nmodel = 'pairwise-elo'\nteam_races = 'ignore'")
    assert rating_rules(load()).named[0].teams is TeamPolicy.IGNORE


def season(name: str, source: str, **facts: str) -> str:
    rest = "".join(f"{key} = {value!r}\n" for key, value in facts.items())
    return (
        f'[[leaderboards]]\nname = "{name}"\ngoals = ["{name}"]\n{rest}carry_over = {{ from = "{source}" }}\n'
    )


@pytest.mark.parametrize(
    ("tables", "leaderboard", "named"),
    [
        (season("S5", "S5"), "S5", "'S5'"),
        (season("S4", "S5") + season("S5", "S4"), "S5", "'S5'"),
        (season("S5", "S4", model="glicko-ffa"), "S5", "glicko-ffa"),
        (season("S4", "S3", model="trueskill") + season("S5", "S4", model="thurstone-hurdle"), "S5", "'S4'"),
    ],
    ids=["itself", "a circle", "a model that cannot carry", "two models"],
)
def test_a_leaderboard_that_cannot_carry_over_is_refused_by_name(
    folder: Path, tables: str, leaderboard: str, named: str
) -> None:
    toml(folder, tables)
    assert any(f"leaderboard {leaderboard!r}: carry_over" in each and named in each for each in problems())


@pytest.mark.parametrize(
    "tables",
    [
        season("S5", "S4") + season("S6", "S5"),
        season("S1", "S0", category="theirs", model="trueskill")
        + season("S1", "S0", category="ours", model="pairwise-elo")
        + season("S2", "S1", category="ours", model="pairwise-elo"),
    ],
    ids=["a chain", "of its own category, with names of another"],
)
def test_a_season_may_carry_over_from_another(folder: Path, tables: str) -> None:
    toml(folder, tables)
    assert rating_rules(load()).named[-1].carry is not None


@pytest.mark.parametrize("written", ["rooms.txt", "file:rooms.txt"])
def test_a_list_of_rooms_may_be_in_a_file_that_has_none_yet(folder: Path, written: str) -> None:
    toml(folder, f"[[leaderboards]]\nname = 'X'\nrooms = '{written}'")
    for text, rooms in (("# none yet\n", ()), ("orb/a\nhttps://racetime.gg/orb/a/\n", ("orb/a",))):
        (folder / "rooms.txt").write_text(text, encoding="utf-8")
        rules = rating_rules(load())
        assert [board.rule.rooms for board in rules.named] == [rooms]
        assert [board.name for board in rules.configs_for_goal("orb", "any")] == ["any"]
    (folder / "rooms.txt").write_text("somewhere\n", encoding="utf-8")
    assert "'somewhere' is no room" in problems()[0]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no endless file")
def test_a_list_of_rooms_is_bounded(folder: Path) -> None:
    toml(folder, "[[leaderboards]]\nname = 'X'\nrooms = '/dev/zero'")
    assert "longer than 1,000,000 characters" in problems()[0]


@pytest.mark.parametrize("host", ["localhost", "sandbox.localhost", "127.0.0.1", "127.8.9.1", "[::1]"])
def test_site_on_this_machine_needs_no_https(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    environment(monkeypatch, SITE=f"http://{host}:8000")
    assert load().site == f"http://{host}:8000"


# Every other problem: where it is, and what to do

X, Y = "[[leaderboards]]\nname = 'X'\ngoals = ['g']\n", "[[leaderboards]]\nname = 'X'\ngoals = ['h']\n"
SITE = "set it to the site's address, such as https://racetime.gg"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("MODEL=plackett-luke", ["='plackett-luke'", "did you mean 'plackett-luce'?", "trueskill"]),
        ("MODEL=trueskill PARAMETERS=betta=1", ["no parameter 'betta'", "did you mean 'beta'?"]),
        ("MODEL=plackett-luce PARAMETERS=rates=fast", ["rates='fast' is not a list of numbers"]),
        ("MODEL=plackett-luce PARAMETERS=points_scale=-1", ["points_scale='-1'", "greater than 0"]),
        (
            "MODEL=plackett-luce TEAM_RACES=team",
            ["='team'", "plackett-luce does not rate teams", "trueskill"],
        ),
        (f"CLIENT_SECERT={SECRET}", ["not a setting of racebot (did you mean 'RACEBOT_CLIENT_SECRET'?): "]),
        (
            "COMMAND_NAMES=rating=why",
            ["RACEBOT_COMMAND_NAMES is not a setting", "CHANGELOG.md"],
        ),
        ("XYZZY=1", [" is not a setting of racebot: correct the name, or remove"]),
        ("CONFIG=nosuch.toml", ["nosuch.toml: No such file"]),
        ("GOALS=" + os.fsdecode(b"caf\xe9"), [": not UTF-8 text: correct the value"]),
        *(
            (f"SITE=http://{host}", [f"='http://{host}': without https, ", SITE])
            for host in ("racetime.gg", "localhost.example", "10.0.0.1", "[2001:db8::1]")
        ),
    ],
)
def test_a_problem_in_the_environment_is_named(monkeypatch, values: str, told: list[str]) -> None:
    given = dict(each.split("=", 1) for each in values.split())
    environment(monkeypatch, **given)
    (problem,) = problems()
    assert f"RACEBOT_{list(given)[-1]}" in problem
    assert [part for part in told if part not in problem] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quiet_seconds = 'ten'", ["quiet_seconds", "'ten'", "a number of seconds from 0 to 600"]),
        ("quite_seconds = 1", ["'quite_seconds' is not a setting", "did you mean 'quiet_seconds'?"]),
        ("RACEBOT_COMMANDS = true", ["'RACEBOT_COMMANDS' is not a setting", "did you mean 'commands'?"]),
        ("model = 'elo'", ["no rating model 'elo'"]),
        (X + "minimum_finishes = -1", ["minimum_finishes=-1: must be greater than or equal to 0"]),
        ("model = 'plackett-luce'\nparameters = { ratse = [1] }", ["no parameter 'ratse'", "'rates'"]),
        (
            "model = 'elo-ffa'\nparameters = { rates = 2026-01-01 }",
            ["rates", "2026-01-01", "is not a list of numbers"],
        ),
        ("[[leaderboards]]\nname = 'X'", ["racebot.toml: leaderboards, number 1"]),
        ("[texts]\nwhy = 3", ["texts, why=3: must be a valid string: correct it"]),
        ("leaderboards = 'x'", ["leaderboards='x': must be a valid list: correct it"]),
        (X + "carry_over = 'Y'", ["number 1, carry_over='Y': must be a "]),
        ("[[leaderboards]]\nname = ''\ngoals = ['g']", ["leaderboards, number 1, name=''"]),
        (X + "modle = 'trueskill'", ["leaderboards, number 1, modle", "'model'"]),
        (X + "scoring = 'sgl-25'", ["leaderboards, number 1, scoring='sgl-25'", "did you mean 'sgl-2025'"]),
        (X + "scoring = { frist = 1 }", ["leaderboards, number 1, scoring: ", "did you mean 'first'"]),
        (X + "model = 'elo'", ["racebot.toml: leaderboards, number 1, model='elo'", "no rating model 'elo'"]),
        (
            X + "model = 'pairwise-elo'\nteam_races = 'team'",
            ["leaderboard 'X'", "pairwise-elo does not rate teams"],
        ),
        (X + Y, ["'X'"]),
        (X + "category = 'orb'\n" + Y, ["'X'"]),
        (X + Y + "category = 'orb'\n", ["'X'"]),
        (TWO.replace('"cup"', '"orb"'), ["'orb'"]),
        (
            "[[categories]]\nslug = 'Bad Slug'\nclient_id = 'a'\nclient_secret = 'b'",
            ["categories, number 1, slug", "pattern"],
        ),
        ('category = "orb"\n' + TWO, ["RACEBOT_CATEGORY and [[categories]] are both set: keep one of them"]),
        ("this is no toml", ["correct the file"]),
        (b"# caf\xe9\n", []),
        (None, []),
        ("a = " + "[" * 5_000, ["nested too deeply"]),
        ("minimum_finishes = " + "9" * 5_000, ["correct the file"]),
        ("quiet_seconds = nan", ["quiet_seconds=nan: "]),
    ],
    ids=range(29),
)
def test_a_problem_in_racebot_toml_is_named(folder: Path, text: str | bytes | None, told: list[str]) -> None:
    file = folder / "racebot.toml"
    if text is None:
        file.mkdir()
    else:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    (problem,) = problems()
    assert [part for part in told if part not in problem] == []
    assert "racebot.toml" in problem or "[[categories]]" in problem
    assert len(problem) <= 1_000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"RACEBOT_CATEGROY=orb", ["RACEBOT_CATEGROY", "'RACEBOT_CATEGORY'"]),
        (b"RACEBOT_QUIET_SECONDS=ten", ["RACEBOT_QUIET_SECONDS='ten': "]),
        (
            b"RACEBOT_MODEL=plackett-luce\nRACEBOT GOALS orb",
            [".env, line 2: not of the form NAME=value: correct it"],
        ),
        (b"# caf\xe9\n", [".env"]),
        (b"RACEBOT_LEADERBOARDS=" + b"[" * 100_000, ["RACEBOT_LEADERBOARDS"]),
        (b"RACEBOT_PARAMETERS={" + b'"a":{' * 40_000, ["RACEBOT_PARAMETERS"]),
        (b"RACEBOT_PAGES_FOOTER=" + b"a" * 5_000, ["up to 300 characters"]),
        (b"RACEBOT_CONFIG=" + b"a" * 5_000, ["or RACEBOT_CONFIG"]),
    ],
    ids=range(8),
)
def test_a_problem_in_the_env_file_is_named(folder: Path, text: bytes, told: list[str]) -> None:
    (folder / ".env").write_bytes(text)
    (problem,) = problems()
    assert [part for part in told if part not in problem] == []
    assert len(problem) <= 1_000


# Secrets


@pytest.mark.parametrize(
    "text",
    [
        f"[leaderboards]\nname = 'X'\ngoals = ['g']\ndiscord = '{WEBHOOK}'",
        f"[[leaderboard]]\nname = 'X'\ngoals = ['g']\ndiscord = '{WEBHOOK}'",
        X + f"discord = 'file:{WEBHOOK}'",
        X + f"discord = ['{WEBHOOK}']",
        X + f"dicsord = '{WEBHOOK}'",
        X + f"discord = {{ url = '{WEBHOOK}' }}",
        X + f"discord = '{WEBHOOK}/slack'",
        X + f"rooms = ['{WEBHOOK}']",
        X + f"rooms = '{WEBHOOK}'",
        X + f"category = '{WEBHOOK}'\nmodel = 'no'",
        X + f"model = '{WEBHOOK}'",
        X + f"scoring = '{WEBHOOK}'",
        X + f"scoring = {{ '{WEBHOOK}' = 1 }}",
        X + f"parameters = {{ '{WEBHOOK}' = 1 }}",
        X + f"carry_over = '{WEBHOOK}'",
        X + f"carry_over = {{ from = 'X', factor = '{WEBHOOK}' }}",
        X + f"from = '{WEBHOOK}'",
        X + f"grace = '{WEBHOOK}'",
        X + f"info = '{WEBHOOK}'",
        f"[[leaderboards]]\nname = 'X'\ngoals = ['{WEBHOOK}']",
        f"[[leaderboards]]\nname = 'X'\ngoals = '{WEBHOOK}'",
        f"[[leaderboards]]\nname = '{WEBHOOK}'\ngoals = ['g']\nmodel = 'no'",
        f"leaderboards = ['{WEBHOOK}']",
        f"leaderboards = '{WEBHOOK}'",
        f"goals = ['{WEBHOOK}']",
        f"category = '{WEBHOOK}'",
        f"discord_webhook = ['{WEBHOOK}']",
        f"discord_webhoook = '{WEBHOOK}'",
        f"pages_title = '{WEBHOOK}'",
        f"parameters = {{ '{WEBHOOK}' = 'x' }}",
        f"texts = '{WEBHOOK}'",
        f"[texts]\nprovisional = '{WEBHOOK}{{'",
        f"[texts]\nnew = '{WEBHOOK}'",
        f"'{WEBHOOK}' = 1",
        f"discord_webhook = '{WEBHOOK}",
    ],
)
def test_a_webhook_in_a_wrong_place_is_refused_and_never_shown(folder: Path, text: str) -> None:
    toml(folder, text)
    assert TOKEN not in "".join(problems())


@pytest.mark.parametrize(
    "text",
    [
        # A key missing beside the secret, one too many, and the secret's own key misspelt or of a wrong kind.
        f"[[categories]]\nslug = 'orb'\nclient_secret = '{SECRET}'",
        f"[[categories]]\nslug = 'orb'\nclient_id = 'a'\nclient_secret = '{SECRET}'\ngaols = []",
        f"[[categories]]\nslug = 'orb'\nclient_id = 'a'\nclient_secert = '{SECRET}'",
        f"[[categories]]\nslug = 'orb'\nclient_id = 'a'\nclient_secret = ['{SECRET}']",
        f"[[categories]]\nslug = 'orb'\nclient_id = ['{SECRET}']\nclient_secret = '{SECRET}'",
        f"[categories]\nslug = 'orb'\nclient_id = 'a'\nclient_secret = '{SECRET}'",
        f"categories = '{SECRET}'",
        f"client_secret = ['{SECRET}']",
        f"client_secert = '{SECRET}'",
        f"[client_secret]\nvalue = '{SECRET}'",
        f"client_secret = '{SECRET}",
        # A secret, longer than names are, in the place of one.
        X + f"{SECRET * 3} = 1",
        X + f"carry_over = {{ from = 'X', {SECRET * 3} = 1 }}",
        f"[[categories]]\nslug = 'orb'\n{SECRET * 3} = 1",
        f"[texts]\n{SECRET * 3} = 'x'",
        f"parameters = {{ '{SECRET * 3}' = 'x' }}",
    ],
)
def test_secrets_of_the_toml_file_are_never_shown(folder: Path, text: str) -> None:
    toml(folder, text)
    problems()


def test_secrets_of_the_environment_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    table = f'{{"slug": "orb", "client_secret": "{SECRET}"'
    for value in (f"[{table}}}]", f"{table}}}", f"[{table}"):
        environment(monkeypatch, CATEGORIES=value)
        problems()


def test_secrets_are_masked_in_repr(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, CATEGORY=CATEGORY, CLIENT_ID="bot", CLIENT_SECRET=SECRET)
    settings = load()
    for shown in (settings, settings.required_categories(), settings.model_dump()):
        assert SECRET not in f"{shown} {shown!r} {settings.model_dump_json()}"
    monkeypatch.delenv("RACEBOT_CATEGORY")
    toml(folder, TWO)
    settings = load()
    assert SECRET not in f"{settings} {settings!r} {settings.required_categories()!r}"


def test_leaderboard_can_have_its_own_listing_rules(folder: Path) -> None:
    table = '[[leaderboards]]\nname = "Any Orb"\ngoals = ["Any Orb"]\ncategory = "orb"\ninactive_days = 30\n'
    toml(folder, f"minimum_finishes = 2\n{table}")
    board = Leaderboard("orb", "Any Orb", ("Any Orb",), "trueskill", {}, "ignore")
    assert listing_of(load(folder), board) == Listing(2, 30, provisional_races=5)
    assert listing_of(load(folder), replace(board, category="other")) == Listing(2, 0, provisional_races=5)


# Secrets in files


def secret_of(folder: Path) -> str:
    return existing(load(folder).client_secret).get_secret_value()


def test_path_in_env_file_starts_from_its_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "secret").write_text(f"{SECRET}\n")
    (folder / ".env").write_text("RACEBOT_CLIENT_SECRET_FILE=secret\n")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert secret_of(folder) == SECRET


@pytest.mark.parametrize(
    ("in_file", "in_environment"),
    [
        ("RACEBOT_CLIENT_SECRET=older", {"CLIENT_SECRET_FILE": "secret"}),
        ("RACEBOT_CLIENT_SECRET_FILE=missing", {"CLIENT_SECRET": SECRET}),
    ],
)
def test_environment_beats_env_file_for_secret_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, in_file: str, in_environment: dict[str, str]
) -> None:
    (folder / "secret").write_text(SECRET)
    (folder / ".env").write_text(in_file)
    environment(monkeypatch, **in_environment)
    assert secret_of(folder) == SECRET


@pytest.mark.parametrize(
    ("content", "variables", "name"),
    [
        (None, {"CLIENT_SECRET_FILE": "secret"}, "RACEBOT_CLIENT_SECRET_FILE='secret'"),
        (b" \n", {"CLIENT_SECRET_FILE": "secret"}, "RACEBOT_CLIENT_SECRET_FILE: set it to"),
        (b"\xff", {"CLIENT_ID_FILE": "secret"}, "RACEBOT_CLIENT_ID_FILE='secret'"),
        (b"a", {"CLIENT_SECRET_FILE": "secret", "CLIENT_SECRET": SECRET}, "are both set"),
        (b"a", {"CLIENT_SECRET_FILES": "secret"}, "RACEBOT_CLIENT_SECRET_FILES"),
    ],
)
def test_unusable_secret_file_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, variables: dict[str, str], name: str
) -> None:
    if content is not None:
        (folder / "secret").write_bytes(content)
    environment(monkeypatch, **variables)
    assert any(name in problem for problem in problems())
