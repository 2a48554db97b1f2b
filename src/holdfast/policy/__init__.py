"""Decisions as pure functions of facts, time and settings: every rule a person would argue about."""
