"""Verbs of recovery and upkeep: interrupted work, stops, restores, erasing, old rows."""
