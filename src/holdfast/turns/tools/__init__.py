"""Run the tools of a turn: start them after their commit, limit their time, collect their results."""
