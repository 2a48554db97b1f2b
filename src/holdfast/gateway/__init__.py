"""The gateway: the stages put together, and the order in which they start and stop."""
