"""Rules for interrupted work: its outcome, suspects, and what chats and models are told."""
