"""Verbs that only read: reports for people, and the check of the whole ledger."""
