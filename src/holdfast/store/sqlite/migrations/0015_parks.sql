-- What the strikes of a session came from, counted beside them: deaths of the process under its turns, and cuts by a
-- stop or restart before the run had anything to show. A session that follows a park is a suspect from its beginning.
ALTER TABLE sessions ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cuts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN follows_park INTEGER NOT NULL DEFAULT 0 CHECK (follows_park IN (0, 1));

-- How many of the turn's interruptions were deaths. Parks of a conversation are counted by its parked turns.
ALTER TABLE turns ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
CREATE INDEX turns_parked ON turns (session) WHERE state = 'parked';

-- Since when the messages of a conversation wait for an owner, because it was parked too often. Nothing in it is ready
-- to be claimed meanwhile.
ALTER TABLE conversations ADD COLUMN held_at INTEGER CHECK (held_at IS NULL OR ready_at IS NULL);
CREATE INDEX conversations_held ON conversations (key) WHERE held_at IS NOT NULL;

-- A parked session stays one when the next message of its chat has begun a fresh session.
DROP INDEX sessions_parked;
CREATE INDEX sessions_parked ON sessions (id) WHERE suspended_at IS NOT NULL;
