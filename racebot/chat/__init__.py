"""The bot's language: the messages, answers and info boxes it writes.

Invariant: pure text. A player's stored name is the only text from a user that the bot repeats.
"""
