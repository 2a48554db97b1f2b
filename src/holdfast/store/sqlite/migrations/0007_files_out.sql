-- Files that go out with a part, as a list of digest, name, media type and size; the bytes stand beside the ledger.
ALTER TABLE outbox ADD COLUMN files TEXT NOT NULL DEFAULT '[]';
