from pathlib import Path

import pytest

from racebot.errors import SettingsError
from racebot.settings.sources import load
from racebot.settings.texts import Texts, fields_of
from racebot.text.format import Count

ROOT = Path(__file__).parents[2]
CHAT = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")


def test_the_list_of_all_texts_loads_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "racebot.toml").write_text((ROOT / "examples" / "texts.en.toml").read_text(encoding="utf-8"))
    assert load(tmp_path).texts == Texts()


@pytest.mark.parametrize("name", Texts.model_fields)
def test_each_default_takes_its_fields(name: str) -> None:
    template = str(Texts.model_fields[name].default)
    assert template.format(
        **{each: Count(2) if chooses else "x" for each, chooses in fields_of(name).items()}
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('provisional = "{gaol}: "', "{gaol} is not a field of this text; there are: {goal}"),
        ('provisional = "{goal.__class__}"', "{goal.__class__} is not a field"),
        ('provisional = "{goal!r}"', "{goal} is not a field"),
        ('provisional = "{goal:>99999999}"', "{goal} is not a field"),
        ('rating_pending = "{change:a|b}"', "{change} is not a field"),
        ('why_place = "{only:one|{gaol}}"', "{gaol} is not a field"),
        ('provisional = "100 {"', "double a brace that does not enclose a field"),
        ('off_topic = "x"', "texts, off_topic"),
        ('button_why = "Leaderboard"', "must differ"),
        ('player = ""', "must not be empty"),
        ('info = "R {goal}"', "must begin with 5 characters before the first field"),
        ('withdrawn = "' + "x" * 501 + '"', "at most 500 characters"),
        ('button_why = "' + "?" * 41 + '"', "should have at most 40 characters"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "racebot.toml").write_text(f"[texts]\n{line}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as refusal:
        load(tmp_path)
    assert problem in str(refusal.value)
    assert "texts" in str(refusal.value)


def test_the_wording_of_the_documentation_loads(tmp_path: Path) -> None:
    example = CHAT.split("```toml\n")[1].split("```")[0]
    (tmp_path / "racebot.toml").write_text(example, encoding="utf-8")
    texts = load(tmp_path).texts
    assert texts.new == ", neu"
    assert texts.withdrawn == ""
    assert texts.dnf == Texts().dnf, "what is left out stays as it is"
