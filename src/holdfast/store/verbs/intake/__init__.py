"""Verbs of everything that people ask for: messages, commands, access, answers, goals."""
