"""Answers to chat commands, each one message, put together by `answers`.

`Answers.draft` reads the ledger on its thread; the `Draft` that it returns does the slow part elsewhere.
"""
