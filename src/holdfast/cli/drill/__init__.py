"""The drill: a real gateway, killed again and again under load, and counted from outside."""
