"""The gateway: builds the stages, starts them and stops them in order."""
