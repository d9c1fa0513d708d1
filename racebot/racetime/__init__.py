"""The site: HTTP client, access tokens, payloads, room sockets, and a room's state machine.

May import: errors, text, observe, races.
Invariant: no trust in the site. Payloads are bounded and validated before any other code sees them.
"""
