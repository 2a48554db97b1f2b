-- Rules that owners gave for a chat: a call that one covers runs there without a question. `prefix` is the beginning of the
-- commands that it covers; null: it covers the one call with this hash. A rule is never deleted, only revoked; a conversation
-- that is forgotten takes the words of its rules along.
CREATE TABLE allowed_calls (
    id         INTEGER PRIMARY KEY,
    chat       TEXT NOT NULL REFERENCES chats (address),
    tool       TEXT NOT NULL,
    agent      TEXT NOT NULL,
    call_hash  TEXT NOT NULL,
    prefix     TEXT CHECK (prefix <> ''),
    arguments  TEXT,
    session    TEXT NOT NULL REFERENCES sessions (id),
    question   TEXT NOT NULL UNIQUE REFERENCES questions (id),
    allowed_by TEXT NOT NULL,
    allowed_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revoked_by TEXT,
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
    CHECK (revoked_at IS NOT NULL OR (arguments IS NOT NULL AND call_hash <> ''))
) STRICT;
CREATE UNIQUE INDEX one_rule_for_a_call ON allowed_calls (chat, tool, agent, call_hash) WHERE revoked_at IS NULL;
CREATE INDEX allowed_calls_in_force ON allowed_calls (id) WHERE revoked_at IS NULL;

-- The rule that a card offers with "always allow this", as JSON; null where it offers none.
ALTER TABLE questions ADD COLUMN offers TEXT CHECK (offers IS NULL OR kind = 'approval');

CREATE TRIGGER allowed_calls_come_from_an_answer BEFORE INSERT ON allowed_calls
WHEN NOT EXISTS (SELECT 1 FROM questions q JOIN sessions s ON s.id = q.session
                 WHERE q.id = NEW.question AND q.state = 'answered' AND q.answer = 'always' AND q.offers IS NOT NULL
                   AND q.call_hash = NEW.call_hash AND s.id = NEW.session AND s.chat = NEW.chat)
BEGIN SELECT RAISE(ABORT, 'no answer asked for this rule'); END;

CREATE TRIGGER allowed_calls_stay_revoked BEFORE UPDATE ON allowed_calls
WHEN OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at
BEGIN SELECT RAISE(ABORT, 'a revoked rule stays revoked'); END;
