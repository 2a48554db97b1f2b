"""A chat in the terminal, over the same API as the page."""
