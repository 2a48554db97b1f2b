"""Verbs of what chats are owed: written in the commit that makes it true, then sent and settled."""
