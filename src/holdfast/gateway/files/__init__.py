"""Files beside the ledger: contents of messages by hash, long results, and copies in workspaces."""
