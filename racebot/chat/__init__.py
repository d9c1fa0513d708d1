"""The bot's language: the messages, answers and info boxes it writes.

May import: standings and everything below it.
Invariant: pure text. A player's stored name is the only text from a user that the bot repeats.
"""
