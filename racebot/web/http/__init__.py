"""Serves the pages over HTTP: the server, its cache, and server-sent events."""
