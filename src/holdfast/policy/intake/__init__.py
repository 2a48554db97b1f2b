"""Rules of what arrives: who may talk, which session a message belongs to, what becomes of it."""
