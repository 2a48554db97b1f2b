-- The ledger. Times are milliseconds since 1970 UTC; ids are time-ordered text; bodies are JSON.
-- What the schema can enforce, it enforces: one live session per key, one open turn per session, one cause
-- per turn, one result per call, one note per interruption, told once, final states with an end time, and
-- (in the triggers at the end) no change of state that the state tables do not have. Words are compared one by
-- one: the list of an IN with three or more would be built anew for every row that is checked.

-- Rows that name an instance as owner do not reference it: old runs are forgotten, what they did is not.
CREATE TABLE instances (
    id           TEXT PRIMARY KEY,
    host         TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    boot         TEXT NOT NULL,
    version      TEXT NOT NULL,
    started_at   INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    stopped      TEXT,
    stopped_at   INTEGER,
    led_to_park  INTEGER NOT NULL DEFAULT 0 CHECK (led_to_park IN (0, 1)),
    CHECK ((stopped IS NULL) = (stopped_at IS NULL))
) STRICT;

-- A place replies go to. `send_at` is when its next owed part may go out; null = nothing owed, or one is in
-- flight. It follows from the outbox and is refreshed with every change there.
CREATE TABLE chats (
    address         TEXT PRIMARY KEY,
    platform        TEXT NOT NULL,
    busy            TEXT,
    on_interruption TEXT,
    agent           TEXT,
    model           TEXT,
    throttled_until INTEGER NOT NULL DEFAULT 0,
    last_number     INTEGER NOT NULL DEFAULT 0,
    send_at         INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX chats_due ON chats (platform, send_at) WHERE send_at IS NOT NULL;

-- One row per conversation key: its place in the line for a worker. `ready_at` is null when there is nothing
-- to claim; it follows from the inbox and the open turn and is refreshed with every change there.
CREATE TABLE conversations (
    key      TEXT PRIMARY KEY,
    chat     TEXT NOT NULL REFERENCES chats (address),
    ready_at INTEGER,
    resume   INTEGER NOT NULL DEFAULT 0 CHECK (resume IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_ready ON conversations (resume, ready_at) WHERE ready_at IS NOT NULL;

CREATE TABLE sessions (
    id             TEXT PRIMARY KEY,
    key            TEXT NOT NULL REFERENCES conversations (key),
    chat           TEXT NOT NULL REFERENCES chats (address),
    began          TEXT NOT NULL,
    began_at       INTEGER NOT NULL,
    generation     INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
    incarnation    INTEGER NOT NULL DEFAULT 0 CHECK (incarnation >= 0),
    last_turn      TEXT REFERENCES turns (id),
    strikes        INTEGER NOT NULL DEFAULT 0 CHECK (strikes >= 0),
    longest_fatal  INTEGER NOT NULL DEFAULT 0,
    completed_at   INTEGER,
    suspended_at   INTEGER,
    suspended_why  TEXT,
    ended_at       INTEGER,
    ended_why      TEXT,
    CHECK ((ended_at IS NULL) = (ended_why IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_live_session ON sessions (key) WHERE ended_at IS NULL;
-- `> 1`, not `>= 2`: a query that compares the same way with a parameter would be planned anew each time.
CREATE INDEX sessions_suspect ON sessions (strikes)
WHERE strikes > 1 AND ended_at IS NULL AND suspended_at IS NULL;
CREATE INDEX sessions_by_key ON sessions (key, id);

CREATE TABLE inbox (
    position    INTEGER PRIMARY KEY,
    account     TEXT NOT NULL,
    event_id    TEXT NOT NULL,
    key         TEXT NOT NULL REFERENCES conversations (key),
    chat        TEXT NOT NULL REFERENCES chats (address),
    sender      TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind = 'message' OR kind = 'command' OR kind = 'wakeup'
                                     OR kind = 'operator'),
    body        TEXT,
    message_id  TEXT,
    sent_at     INTEGER,
    accepted_at INTEGER NOT NULL,
    incarnation INTEGER,
    state       TEXT NOT NULL DEFAULT 'waiting' CHECK (state = 'waiting' OR state = 'taken'
                                                       OR state = 'answered' OR state = 'executed'
                                                       OR state = 'refused' OR state = 'offered'
                                                       OR state = 'withdrawn' OR state = 'dropped'),
    turn        TEXT REFERENCES turns (id),
    question    TEXT REFERENCES questions (id),
    reason      TEXT,
    settled_at  INTEGER,
    UNIQUE (account, event_id),
    CHECK ((state IN ('waiting', 'offered')) = (settled_at IS NULL)),
    CHECK (state <> 'taken' OR turn IS NOT NULL),
    CHECK (state <> 'answered' OR question IS NOT NULL)
) STRICT;
CREATE INDEX inbox_waiting ON inbox (key, position) WHERE state = 'waiting' AND kind <> 'command';
CREATE INDEX inbox_commands ON inbox (position) WHERE state = 'waiting' AND kind = 'command';
CREATE INDEX inbox_offered ON inbox (key) WHERE state = 'offered';
CREATE INDEX inbox_by_message ON inbox (chat, message_id) WHERE message_id IS NOT NULL;

CREATE TABLE cursors (
    account TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    moved_at INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE set_aside (
    id       INTEGER PRIMARY KEY,
    account  TEXT NOT NULL,
    event_id TEXT,
    reason   TEXT NOT NULL,
    payload  TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX set_aside_once ON set_aside (account, event_id) WHERE event_id IS NOT NULL;

CREATE TABLE turns (
    id             TEXT PRIMARY KEY,
    session        TEXT NOT NULL REFERENCES sessions (id),
    cause          INTEGER NOT NULL UNIQUE REFERENCES inbox (position),
    state          TEXT NOT NULL CHECK (state = 'queued' OR state = 'running' OR state = 'waiting'
                                        OR state = 'interrupted' OR state = 'done' OR state = 'failed'
                                        OR state = 'cancelled' OR state = 'expired' OR state = 'parked'),
    generation     INTEGER NOT NULL,
    attempt        INTEGER NOT NULL DEFAULT 1,
    owner          TEXT,
    last_owner     TEXT,
    suspect        INTEGER NOT NULL DEFAULT 0 CHECK (suspect IN (0, 1)),
    productive     INTEGER NOT NULL DEFAULT 0 CHECK (productive IN (0, 1)),
    begun_at       INTEGER NOT NULL,
    claimed_at     INTEGER NOT NULL,
    progress_at    INTEGER,
    tail           TEXT NOT NULL DEFAULT 'nothing',
    first_seq      INTEGER NOT NULL,
    last_seq       INTEGER NOT NULL,
    noted          INTEGER NOT NULL DEFAULT 0,
    interruptions  INTEGER NOT NULL DEFAULT 0,
    interrupted_at INTEGER,
    interruption   TEXT,
    held           TEXT,
    held_since     INTEGER,
    quarantined    INTEGER NOT NULL DEFAULT 0,
    consented      INTEGER NOT NULL DEFAULT 0,
    stop           TEXT,
    stop_at        INTEGER,
    ended_at       INTEGER,
    why            TEXT,
    CHECK ((state = 'running') = (owner IS NOT NULL)),
    CHECK ((state = 'done' OR state = 'failed' OR state = 'cancelled' OR state = 'expired'
            OR state = 'parked') = (ended_at IS NOT NULL)),
    CHECK (state <> 'interrupted' OR interruptions > 0),
    CHECK (held IS NULL OR state = 'interrupted')
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_open_turn ON turns (session) WHERE ended_at IS NULL;
CREATE INDEX turns_interrupted ON turns (id) WHERE state = 'interrupted';
CREATE INDEX turns_suspect ON turns (suspect) WHERE suspect = 1;
CREATE INDEX turns_stopping ON turns (owner) WHERE stop IS NOT NULL;

-- The transcript: append-only. `call` names the call of a result, `count` the interruption of a note. Rows stand
-- in the order they came, of all sessions, so that a new one is put at the end and moves no other.
CREATE TABLE entries (
    session TEXT NOT NULL REFERENCES sessions (id),
    seq     INTEGER NOT NULL,
    turn    TEXT NOT NULL REFERENCES turns (id),
    kind    TEXT NOT NULL CHECK (kind = 'said' OR kind = 'replied' OR kind = 'returned' OR kind = 'noted'
                                 OR kind = 'undone' OR kind = 'summed'),
    call    TEXT,
    count   INTEGER,
    body    TEXT,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, seq),
    CHECK ((kind = 'returned') = (call IS NOT NULL)),
    CHECK ((kind = 'noted') = (count IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX one_note_per_interruption ON entries (turn, count) WHERE kind = 'noted';

-- `result` is the place in the transcript of the one entry that settles the call.
CREATE TABLE tool_calls (
    turn       TEXT NOT NULL REFERENCES turns (id),
    id         TEXT NOT NULL,
    place      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    arguments  TEXT,
    effect     TEXT NOT NULL CHECK (effect = 'read' OR effect = 'idempotent' OR effect = 'reconcilable'
                                    OR effect = 'effect'),
    state      TEXT NOT NULL DEFAULT 'planned' CHECK (state = 'planned' OR state = 'started'
                                                      OR state = 'done' OR state = 'failed'
                                                      OR state = 'unknown' OR state = 'skipped'),
    generation INTEGER NOT NULL DEFAULT 0,
    runs       INTEGER NOT NULL DEFAULT 0,
    planned_at INTEGER NOT NULL,
    started_at INTEGER,
    settled_at INTEGER,
    result     INTEGER,
    PRIMARY KEY (turn, id),
    CHECK ((state = 'done' OR state = 'failed' OR state = 'unknown'
            OR state = 'skipped') = (settled_at IS NOT NULL)),
    CHECK ((settled_at IS NULL) = (result IS NULL)),
    CHECK ((state IN ('planned', 'skipped')) = (started_at IS NULL)),
    CHECK (effect <> 'effect' OR runs <= 1)
) STRICT, WITHOUT ROWID;

CREATE TABLE questions (
    id          TEXT PRIMARY KEY,
    session     TEXT NOT NULL REFERENCES sessions (id),
    incarnation INTEGER NOT NULL,
    turn        TEXT NOT NULL REFERENCES turns (id),
    call        TEXT,
    kind        TEXT NOT NULL CHECK (kind = 'clarify' OR kind = 'approval' OR kind = 'continue'),
    call_hash   TEXT,
    asked_of    TEXT,
    text        TEXT,
    options     TEXT NOT NULL DEFAULT '[]',
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state = 'open' OR state = 'answered'
                                                    OR state = 'expired' OR state = 'set_aside'
                                                    OR state = 'undeliverable' OR state = 'cancelled'),
    asked_at    INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    closed_at   INTEGER,
    answer      TEXT,
    answered_by INTEGER UNIQUE REFERENCES inbox (position),
    CHECK ((state = 'open') = (closed_at IS NULL)),
    CHECK ((kind = 'approval') = (call_hash IS NOT NULL)),
    CHECK ((kind = 'continue') = (call IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_open ON questions (session) WHERE state = 'open';
CREATE INDEX questions_due ON questions (expires_at) WHERE state = 'open';
CREATE INDEX questions_by_turn ON questions (turn);

CREATE TABLE outbox (
    id          INTEGER PRIMARY KEY,
    chat        TEXT NOT NULL REFERENCES chats (address),
    number      INTEGER NOT NULL,
    session     TEXT REFERENCES sessions (id),
    turn        TEXT REFERENCES turns (id),
    kind        TEXT NOT NULL CHECK (kind = 'reply' OR kind = 'notice' OR kind = 'question'),
    dedupe      TEXT NOT NULL,
    part        INTEGER NOT NULL,
    parts       INTEGER NOT NULL,
    body        TEXT,
    reply_to    TEXT,
    options     TEXT NOT NULL DEFAULT '[]',
    state       TEXT NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'sending'
                                                       OR state = 'sent' OR state = 'unknown'
                                                       OR state = 'failed' OR state = 'expired'),
    attempts    INTEGER NOT NULL DEFAULT 0,
    repeated    INTEGER NOT NULL DEFAULT 0 CHECK (repeated IN (0, 1)),
    not_before  INTEGER NOT NULL DEFAULT 0,
    owner       TEXT,
    created_at  INTEGER NOT NULL,
    claimed_at  INTEGER,
    settled_at  INTEGER,
    platform_id TEXT,
    reason      TEXT,
    UNIQUE (chat, number),
    UNIQUE (dedupe, part),
    CHECK ((state = 'sent' OR state = 'failed' OR state = 'expired') = (settled_at IS NOT NULL)),
    CHECK ((state = 'sending') = (owner IS NOT NULL)),
    CHECK (state NOT IN ('failed', 'expired') OR reason IS NOT NULL)
) STRICT;
CREATE INDEX outbox_unsettled ON outbox (chat, number) WHERE settled_at IS NULL;
CREATE INDEX outbox_unknown ON outbox (id) WHERE state = 'unknown';

-- The one message by which a session says that work goes on. A row stands here while that message may be read as
-- true or will be; it goes once the message has its last words, or nobody will see it.
CREATE TABLE notices (
    session    TEXT PRIMARY KEY REFERENCES sessions (id),
    delivery   INTEGER NOT NULL UNIQUE REFERENCES outbox (id),
    turn       TEXT NOT NULL REFERENCES turns (id),
    generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE processes (
    id            TEXT PRIMARY KEY,
    session       TEXT NOT NULL REFERENCES sessions (id),
    incarnation   INTEGER NOT NULL,
    generation    INTEGER NOT NULL,
    turn          TEXT NOT NULL REFERENCES turns (id),
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
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    UNIQUE (pid, started_ticks),
    CHECK ((state = 'running') = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX processes_running ON processes (id) WHERE state = 'running';
CREATE INDEX processes_by_session ON processes (session);

CREATE TABLE requests (
    id         INTEGER PRIMARY KEY,
    what       TEXT NOT NULL,
    dedupe     TEXT NOT NULL UNIQUE,
    asked_by   TEXT,
    after_turn TEXT REFERENCES turns (id),
    asked_at   INTEGER NOT NULL,
    done_at    INTEGER,
    outcome    TEXT,
    CHECK ((done_at IS NULL) = (outcome IS NULL))
) STRICT;
CREATE INDEX requests_open ON requests (id) WHERE done_at IS NULL;

CREATE TABLE goals (
    session     TEXT PRIMARY KEY REFERENCES sessions (id),
    incarnation INTEGER NOT NULL,
    text        TEXT,
    state       TEXT NOT NULL CHECK (state = 'active' OR state = 'done' OR state = 'blocked'
                                     OR state = 'stopped' OR state = 'spent'),
    budget      INTEGER NOT NULL,
    used        INTEGER NOT NULL DEFAULT 0 CHECK (used <= budget),
    set_at      INTEGER NOT NULL,
    ended_at    INTEGER,
    CHECK ((state = 'active') = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    subject    TEXT NOT NULL,
    scope      TEXT NOT NULL CHECK (scope = 'person' OR scope = 'chat' OR scope = 'owner'),
    granted_by TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (scope, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE pairings (
    code_hash   TEXT PRIMARY KEY,
    person      TEXT NOT NULL,
    chat        TEXT NOT NULL,
    made_at     INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    used_at     INTEGER,
    approved_by TEXT,
    CHECK ((used_at IS NULL) = (approved_by IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX pairings_by_person ON pairings (person, made_at);

CREATE TABLE blobs (
    digest     TEXT PRIMARY KEY,
    size       INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    stored_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
    turn          TEXT NOT NULL REFERENCES turns (id),
    seq           INTEGER NOT NULL,
    chat          TEXT NOT NULL REFERENCES chats (address),
    model         TEXT NOT NULL,
    tokens_in     INTEGER NOT NULL DEFAULT 0,
    tokens_out    INTEGER NOT NULL DEFAULT 0,
    cost_microusd INTEGER NOT NULL DEFAULT 0,
    at            INTEGER NOT NULL,
    PRIMARY KEY (turn, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_chat ON usage (chat, at);

-- What happened to which row, by which process, when: all that the row itself does not keep. When a message
-- was accepted and settled, a turn began and ended, a part was sent, stands on their rows alone.
-- `subject` is kind:id, as `trace` follows it.
CREATE TABLE events (
    id       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    instance TEXT,
    what     TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT
) STRICT;
CREATE INDEX events_by_subject ON events (subject, id);

-- Nothing in the transcript is rewritten or deleted; only its content may be erased, its skeleton stays.
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_are_not_rewritten BEFORE UPDATE ON entries
WHEN NEW.body IS NOT NULL OR NEW.session <> OLD.session OR NEW.seq <> OLD.seq OR NEW.turn <> OLD.turn
  OR NEW.kind <> OLD.kind OR NEW.call IS NOT OLD.call OR NEW.count IS NOT OLD.count OR NEW.at <> OLD.at
BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;

-- A call has one result: the entry it names, and it names one once.
CREATE TRIGGER results_are_of_their_calls BEFORE INSERT ON entries
WHEN NEW.kind = 'returned'
 AND NOT EXISTS (SELECT 1 FROM tool_calls WHERE turn = NEW.turn AND id = NEW.call AND result = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'a call has one result'); END;
CREATE TRIGGER results_are_not_moved BEFORE UPDATE OF result ON tool_calls WHEN OLD.result IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a call has one result'); END;

-- Counters that fence may only grow.
CREATE TRIGGER fences_only_grow BEFORE UPDATE OF generation, incarnation ON sessions
WHEN NEW.generation < OLD.generation OR NEW.incarnation < OLD.incarnation
BEGIN SELECT RAISE(ABORT, 'a fence may only grow'); END;

-- The state tables, drawn from the model (a test compares the two).
CREATE TRIGGER turns_follow_their_states BEFORE UPDATE OF state ON turns
WHEN NEW.state <> OLD.state AND instr(
    '|queued>running|queued>cancelled|queued>expired|queued>interrupted|running>done|running>failed|'
    || 'running>cancelled|running>waiting|running>interrupted|running>queued|waiting>queued|'
    || 'waiting>cancelled|interrupted>queued|interrupted>waiting|interrupted>done|interrupted>cancelled|'
    || 'interrupted>expired|interrupted>parked|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

CREATE TRIGGER tool_calls_follow_their_states BEFORE UPDATE OF state ON tool_calls
WHEN NEW.state <> OLD.state AND instr(
    '|planned>started|planned>skipped|started>done|started>failed|started>unknown|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

CREATE TRIGGER outbox_follow_their_states BEFORE UPDATE OF state ON outbox
WHEN NEW.state <> OLD.state AND instr(
    '|pending>sending|pending>failed|pending>expired|sending>sent|sending>pending|sending>unknown|'
    || 'sending>failed|unknown>sent|unknown>pending|unknown>failed|unknown>expired|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

CREATE TRIGGER inbox_follow_their_states BEFORE UPDATE OF state ON inbox
WHEN NEW.state <> OLD.state AND instr(
    '|waiting>taken|waiting>answered|waiting>executed|waiting>refused|waiting>offered|waiting>withdrawn|'
    || 'waiting>dropped|offered>waiting|offered>dropped|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

CREATE TRIGGER questions_follow_their_states BEFORE UPDATE OF state ON questions
WHEN NEW.state <> OLD.state AND instr(
    '|open>answered|open>expired|open>set_aside|open>undeliverable|open>cancelled|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

CREATE TRIGGER processes_follow_their_states BEFORE UPDATE OF state ON processes
WHEN NEW.state <> OLD.state AND instr(
    '|running>exited|running>killed|running>lost|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;
