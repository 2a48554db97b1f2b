"""Verbs that only read: what people look at, and the check of the whole ledger."""
