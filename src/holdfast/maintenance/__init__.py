"""Looking after a home: backup and restore, doctor, incidents, the log."""
