"""The site: HTTP client, access tokens, payloads and room sockets.

Invariant: no trust in the site. Payloads are bounded and validated before any other code sees them.
"""
