"""A chat in the terminal, over the gateway's local socket."""
