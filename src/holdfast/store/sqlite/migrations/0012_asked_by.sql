-- Why the gateway itself asks about interrupted work; null for the questions of models and limits.
ALTER TABLE questions ADD COLUMN asked_by TEXT;
CREATE INDEX questions_of_recovery ON questions (asked_by, expires_at) WHERE state = 'open' AND asked_by IS NOT NULL;
