-- Why the gateway itself asks about interrupted work; null for the questions of models and limits.
ALTER TABLE questions ADD COLUMN asked_by TEXT;
CREATE INDEX questions_of_recovery ON questions (asked_by, expires_at) WHERE state = 'open' AND asked_by IS NOT NULL;

-- Recovery's open questions say by their ids why they were asked. No message and no expiry drops what safe mode holds.
UPDATE questions SET asked_by = 'chat_says_ask' WHERE state = 'open' AND id GLOB 'chat_says_ask:*';
UPDATE questions SET asked_by = 'safe_mode_suspect', expires_at = 253402300799999
WHERE state = 'open' AND id GLOB 'safe_mode_message:*';
