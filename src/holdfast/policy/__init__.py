"""Decisions as pure functions of facts, time and settings: every rule that people would argue about."""
