"""How commands print: tables, words, JSON, and text that cannot control the terminal."""
