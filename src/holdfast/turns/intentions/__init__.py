"""Intentions: what tools ask the gateway to do. It is carried out here and committed with the journal."""
