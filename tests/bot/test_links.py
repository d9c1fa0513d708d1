import pytest
from builders import result, settler_of

from racebot.chat.links import rating_buttons
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings

PAGES = "https://example.org"


def buttons(ledger: Ledger, **settings: object) -> dict[str, dict[str, str]]:
    (board,) = ledger.leaderboards.all()
    return rating_buttons(Settings(**settings), ledger, board, "orb/r")  # type: ignore[arg-type]


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    settler_of(ledger, "elo-ffa").add_past_races([result("r", "ann bo")], "import")
    return ledger


def test_buttons_send_the_commands_that_are_on(ledger: Ledger) -> None:
    assert buttons(ledger, command_prefix="?") == {
        "My rating": {"message": "?rating"},
        "Why?": {"message": "?why"},
        "Leaderboard": {"message": "?leaderboard"},
    }
    assert buttons(ledger, commands=False) == {}


@pytest.mark.parametrize("commands", [True, False])
def test_buttons_open_published_pages(ledger: Ledger, *, commands: bool) -> None:
    assert buttons(ledger, pages_url=PAGES, commands=commands) == {
        "My rating": {"url": f"{PAGES}/search.html?race=orb/r#me"},
        "Why?": {"url": f"{PAGES}/races/orb/r.html"},
        "Leaderboard": {"url": f"{PAGES}/leaderboards/orb/any-orb.html"},
    }


def test_a_button_without_a_label_is_left_out(ledger: Ledger) -> None:
    assert set(buttons(ledger, pages_url=PAGES, texts={"button_why": ""})) == {"My rating", "Leaderboard"}
