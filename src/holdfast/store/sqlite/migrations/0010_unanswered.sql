-- A turn whose question is not answered in time ends where it waits; it is not queued again.
DROP TRIGGER turns_follow_their_states;
CREATE TRIGGER turns_follow_their_states BEFORE UPDATE OF state ON turns
WHEN NEW.state <> OLD.state AND instr(
    '|queued>running|queued>cancelled|queued>expired|queued>interrupted|running>done|running>failed|'
    || 'running>cancelled|running>waiting|running>interrupted|running>queued|waiting>queued|'
    || 'waiting>cancelled|waiting>expired|interrupted>queued|interrupted>waiting|interrupted>done|'
    || 'interrupted>cancelled|interrupted>expired|interrupted>parked|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

-- Whether the message of a closed question says how it ended. Questions that were closed before keep the words they had.
ALTER TABLE questions ADD COLUMN shown_closed INTEGER NOT NULL DEFAULT 0 CHECK (shown_closed IN (0, 1));
UPDATE questions SET shown_closed = 1 WHERE state <> 'open';
