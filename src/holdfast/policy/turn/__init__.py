"""Rules of a running turn: what comes next, what the model is shown, what became of each call."""
