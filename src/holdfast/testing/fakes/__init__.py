"""Servers for tests that speak real protocols: the Bot API and model providers."""
