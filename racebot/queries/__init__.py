"""Questions to the ledger, a module for each. They read through a `Ledger` and write nothing.

Chat, the command line, pages and the API show the records that these functions return.
"""
