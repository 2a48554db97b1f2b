"""Verbs of a turn: claim it, record its steps, end it."""
