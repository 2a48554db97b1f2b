"""Verbs of a turn: claimed, recorded step by step, ended."""
