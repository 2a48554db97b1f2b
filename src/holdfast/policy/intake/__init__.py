"""Rules for what arrives: who may talk, which session a message belongs to, what the gateway does with it."""
