-- Parked conversations wait for a person; they are found and counted without a look at all the others.
CREATE INDEX sessions_parked ON sessions (id) WHERE suspended_at IS NOT NULL AND ended_at IS NULL;
