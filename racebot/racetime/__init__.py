"""The site: HTTP client, access tokens, payloads, room sockets, and a room's state machine.

May import: errors, text, observe, races.
Invariant: nothing from the site is trusted. Payloads are bounded and validated before anybody sees them.
"""
