"""Rules of interrupted work: what becomes of it, who is suspected, and what chats and models are told."""
