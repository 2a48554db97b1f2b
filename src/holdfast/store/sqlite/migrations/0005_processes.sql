-- A process is known by its pid and start time within one start of the machine. `watched` is how far its output was
-- looked through when the last match was written down, `missed` how many matches woke nobody since it was looked at.
CREATE TABLE new_processes (
    id            TEXT PRIMARY KEY,
    session       TEXT NOT NULL REFERENCES sessions (id),
    incarnation   INTEGER NOT NULL,
    generation    INTEGER NOT NULL,
    turn          TEXT NOT NULL REFERENCES turns (id),
    boot          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    started_ticks INTEGER NOT NULL,
    command       TEXT,
    log           TEXT NOT NULL,
    notify        INTEGER NOT NULL DEFAULT 0 CHECK (notify IN (0, 1)),
    patterns      TEXT NOT NULL DEFAULT '[]',
    state         TEXT NOT NULL DEFAULT 'running' CHECK (state = 'running' OR state = 'exited'
                                                         OR state = 'killed' OR state = 'lost'),
    exit_code     INTEGER,
    consumed      INTEGER NOT NULL DEFAULT 0 CHECK (consumed IN (0, 1)),
    matches       INTEGER NOT NULL DEFAULT 0,
    watched       INTEGER NOT NULL DEFAULT 0,
    missed        INTEGER NOT NULL DEFAULT 0,
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    UNIQUE (boot, pid, started_ticks),
    CHECK ((state = 'running') = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO new_processes (id, session, incarnation, generation, turn, boot, pid, started_ticks, command, log, notify,
                           patterns, state, exit_code, consumed, matches, started_at, ended_at)
SELECT id, session, incarnation, generation, turn, '', pid, started_ticks, command, log, notify,
       patterns, state, exit_code, consumed, matches, started_at, ended_at FROM processes;
DROP TABLE processes;
ALTER TABLE new_processes RENAME TO processes;
CREATE INDEX processes_running ON processes (id) WHERE state = 'running';
CREATE INDEX processes_by_session ON processes (session);
CREATE TRIGGER processes_follow_their_states BEFORE UPDATE OF state ON processes
WHEN NEW.state <> OLD.state AND instr(
    '|running>exited|running>killed|running>lost|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

-- A goal speaks for the person who set it, so that their access is what counts.
ALTER TABLE goals ADD COLUMN set_by TEXT NOT NULL DEFAULT '';
ALTER TABLE goals ADD COLUMN words TEXT;
CREATE TRIGGER goals_follow_their_states BEFORE UPDATE OF state ON goals
WHEN NEW.state <> OLD.state AND instr(
    '|active>done|active>blocked|active>stopped|active>spent|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;
