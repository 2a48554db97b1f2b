"""Files beside the ledger: attachments by hash, long results, and copies in workspaces."""
