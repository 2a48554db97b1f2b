"""Verbs that take things in: messages, commands, people, questions, goals."""
