"""Every error that racebot raises on purpose."""

import re

LONGEST_LINE = 1_000
"""Most characters of a message. Longer ones lose their middle, since place and remedy are at the ends."""

_LIKE_A_SECRET = re.compile(
    r"""\S*webhooks/\S*|(?<!\w)(['"])((?!\1).)*?[\w-]{24}.*?\1(?!\w)|(?<![\w/-])(?=[\w-]*\d)[\w-]{24,}""",
    re.DOTALL,
)


class RacebotError(Exception):
    """Base of all errors raised on purpose. `problems` holds one line for the operator each.

    They may quote foreign text, so they are shortened to `LONGEST_LINE`, and control characters are escaped.
    """

    def __init__(self, *problems: str) -> None:
        self.problems = tuple(map(_line, problems))
        super().__init__("\n".join(self.problems))


class SettingsError(RacebotError):
    """A setting is missing, misspelt or unusable.

    What is quoted may be a secret in the wrong place, so long words and addresses of webhooks are left out.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*(_LIKE_A_SECRET.sub("…", each) for each in problems))


class MissingExtraError(RacebotError):
    """A command needs an extra of the package. The message says how to install it."""

    def __init__(self, extra: str, text: str) -> None:
        super().__init__(f"{text}: {install_hint(extra)}")


class ModelError(RacebotError):
    """An unknown rating model, or a parameter it cannot take."""


class PayloadError(RacebotError):
    """A file or an answer does not have the expected content. The message names the place in it."""


class SiteError(RacebotError):
    """The site refused a request, sent an unreadable answer, or could not be reached."""


class CredentialsError(SiteError):
    """The site refused the client id and secret, or the access token."""


class NotFoundError(SiteError):
    """The site has no such category, race or page."""


class ConnectionLost(SiteError):  # noqa: N818 - an event to recover from
    """A room's socket closed, stopped answering, or could not be opened."""


class TokenRefused(ConnectionLost):
    """The site refused an action because of the token: get a new one and connect again."""


class LedgerError(RacebotError):
    """The database cannot be opened, is not a ledger, or fails its own checks."""


class LedgerUnavailable(LedgerError):  # noqa: N818 - a temporary state
    """The database cannot be written at the moment. The unfinished write was undone; a retry may succeed."""


class DamagedRaceError(LedgerError):
    """A stored result was altered since it was stored, or cannot be read."""


class NoSuchEntryError(RacebotError):
    """The ledger has no such player, race or leaderboard."""


class OrderError(RacebotError):
    """An operator's order cannot be carried out. The ledger is unchanged."""


def reason(error: Exception) -> str:
    """Return why an operation failed, without the number that Python puts before the system's words."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return re.sub(r"^\[Errno -?\d+\] ", "", text) or repr(error)  # httpx quotes it


def in_words(error: Exception) -> str:
    """Return an error's message. One that nobody expected is shown with its type."""
    return str(error) if isinstance(error, RacebotError) else f"unexpected error: {error!r}"


def install_hint(extra: str) -> str:
    """Return how to install an extra, from a clone or a wheel.

    The package index may hold a stranger's package of the same name, so neither way uses it.
    """
    return (
        f"the extra {extra!r} is missing: run `pip install '.[{extra}]'` in a clone of racebot, "
        f"or `pip install 'FILE.whl[{extra}]'` with the file that you installed"
    )


def _line(text: str) -> str:
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE * 2 // 3]} … {text[-LONGEST_LINE // 4 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
