"""Answers to chat commands, each one message: a module for each command, put together by `answers`.

An answer takes two steps. `Answers.draft` reads the ledger on its thread, in milliseconds. The `Draft` that
it returns does the slow part without the ledger: it rates the room's race and explains it.
"""
