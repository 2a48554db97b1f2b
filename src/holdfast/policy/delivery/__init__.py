"""Rules of what goes out: parts of a reply, files, and what becomes of a send."""
