"""Rules for what goes out: parts of a reply, files, and what follows a send."""
