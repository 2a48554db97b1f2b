-- Why the last claim of this conversation failed, as long as no claim has succeeded since; null: it did not fail.
ALTER TABLE conversations ADD COLUMN fault TEXT;
CREATE INDEX conversations_faulty ON conversations (key) WHERE fault IS NOT NULL;
