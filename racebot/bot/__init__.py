"""The worker: watches categories and rooms, settles races, delivers messages, and stops in order.

Invariant: a crash at any point loses no race and sends no message twice.
"""
