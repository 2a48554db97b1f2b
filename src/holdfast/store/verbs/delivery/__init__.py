"""Verbs of what chats are owed: each part is written in the commit that makes it true, sent, and settled."""
