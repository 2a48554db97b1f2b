-- What a part knows of its own failures. `repeats`: how often it was sent again, marked, because it may have arrived.
-- `failing_since`: its first failed send; `overtaken_at`: another send of the account has succeeded since then;
-- `aside_at`: it left its chat's line, so that later parts do not wait for it. Sending goes on all the same.
ALTER TABLE outbox ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0 CHECK (repeats >= 0);
ALTER TABLE outbox ADD COLUMN failing_since INTEGER;
ALTER TABLE outbox ADD COLUMN overtaken_at INTEGER CHECK (overtaken_at IS NULL OR failing_since IS NOT NULL);
ALTER TABLE outbox ADD COLUMN aside_at INTEGER CHECK (aside_at IS NULL OR failing_since IS NOT NULL);
CREATE INDEX outbox_failing ON outbox (id) WHERE failing_since IS NOT NULL AND settled_at IS NULL;
CREATE INDEX outbox_aside ON outbox (chat) WHERE aside_at IS NOT NULL AND settled_at IS NULL;
