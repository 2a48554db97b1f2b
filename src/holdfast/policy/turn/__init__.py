"""Rules of a running turn: its next step, what the model is shown, and the result of each call."""
