import json
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from racebot.telemetry.logs import REMOVED, Redactor

TOKEN = "q7Zt2mXw9LkPf4RbVc8NsYh3JdGu6A"

SECRETS = st.text(min_size=8, max_size=40).filter(lambda text: text.isprintable() and text not in REMOVED)
AROUND = st.text(max_size=30)


@given(SECRETS, AROUND, AROUND)
def test_known_secret_never_remains(secret: str, before: str, after: str) -> None:
    redact = Redactor([secret])
    for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
        assert form not in redact(f"{before} {form} {after}")


@pytest.mark.parametrize(
    "line",
    [
        f"GET https://racetime.gg/smr/data?token={TOKEN}&page=2",
        "GET https://racetime.gg/smr/data?t=short",
        f"authorization: Bearer {TOKEN}",
        f"'Authorization': 'Bearer {TOKEN}'",
        f'{{"access_token": "{TOKEN}", "expires_in": 36000}}',
        f"connected with {TOKEN}",
        "RACEBOT_CLIENT_SECRET='pa ss word' # ours",
        'password: "a b c"',
        "https://owner:hunter2@ratings.example.org/",
        "mail to owner@example.org",
    ],
)
def test_anything_like_a_secret_is_removed(line: str) -> None:
    shown = Redactor([])(line)
    hidden = (TOKEN, "short", "pa ss", "word'", "abc", "a b c", "hunter2", "owner@")
    assert not any(text in shown for text in hidden), shown


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-02 20:00:01 INFO smr/curious-midfast-0534: 3 ratings changed (Map Rando S4)",
        "ok    credentials: accepted, token good for 10 h",
        'database = "state/racebot.db"',
        "thurstone-hurdle: newcomer_spread=1.8 spare_finishers=false",
    ],
)
def test_ordinary_lines_stay(line: str) -> None:
    assert Redactor(["hush-hush"])(line) == line


def test_account_names_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv/people/maria")
    shown = Redactor([])("read /srv/people/maria/bot/.env and /home/tom/.env")
    assert "maria" not in shown
    assert "tom" not in shown
