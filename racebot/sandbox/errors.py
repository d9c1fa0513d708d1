"""The sandbox's own errors."""

from __future__ import annotations


class SandboxError(Exception):
    """The sandbox cannot fulfil a request."""


class RuleError(SandboxError):
    """The request breaks one of the site's rules."""


class UnknownError(SandboxError):
    """The sandbox has no such user, bot or race."""


class HistoryError(SandboxError):
    """A file does not hold a history of races."""
