"""Answers to chat commands, each one message, put together by `answers`."""
