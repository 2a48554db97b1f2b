"""What an outside observer sees of a world: histories, and ledgers read by a separate connection."""
