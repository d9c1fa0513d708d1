"""Logs, metrics and the health endpoint.

May import: errors, text.
Invariant: no secret and no unbounded text reaches a log line or a label.
"""
