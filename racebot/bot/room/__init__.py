"""The room of a race: joins it, follows the race and writes in its chat.

`connection` reads frames into `inbox`, which hands each event to `case.step` and carries out the effects
through `ledger_work`. `delivery` sends what that queued.
"""
