"""Rules of consent: which calls need it, who is asked, and what the card shows."""
