"""One gateway process: its signals, exit codes, supervisor and watchdog."""
