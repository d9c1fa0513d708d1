"""What all pages share: addresses, a snapshot of the ledger, and the request for a page."""
