"""The sandbox's own errors."""

from __future__ import annotations


class SandboxError(Exception):
    """A request that the sandbox cannot fulfil. The text says why."""


class RuleError(SandboxError):
    """The request breaks one of the site's rules."""


class UnknownError(SandboxError):
    """The sandbox has no such user, bot or race."""


class HistoryError(SandboxError):
    """A file is not a history of races."""
