"""What is seen of a world from outside: histories, and ledgers read by a connection of their own."""
