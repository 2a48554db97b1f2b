-- The chats of one account that go on, by their last turn: whoever lists them reads a page, not all of them. A key
-- begins with platform, account and a slash each; a turn's id says when it began.
CREATE INDEX sessions_by_work
ON sessions (substr(key, 1, instr(key, '/') + instr(substr(key, instr(key, '/') + 1), '/')), last_turn)
WHERE ended_at IS NULL AND last_turn IS NOT NULL;
