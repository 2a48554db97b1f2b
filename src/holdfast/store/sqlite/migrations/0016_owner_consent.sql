-- Whether an owner is asked, about the work of a person who is none. Only a button or a reply to its message answers such
-- a question, and only an owner's.
ALTER TABLE questions ADD COLUMN of_owner INTEGER NOT NULL DEFAULT 0 CHECK (of_owner IN (0, 1));
CREATE INDEX questions_of_owner ON questions (asked_at, id) WHERE of_owner = 1;
