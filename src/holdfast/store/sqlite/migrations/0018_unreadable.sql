-- A row whose state is none of its table's, because the file is damaged, may end: as what the table says, and as nothing
-- else. Before, no change of such a row was allowed, and its chat could not go on.

DROP TRIGGER turns_follow_their_states;
CREATE TRIGGER turns_follow_their_states BEFORE UPDATE OF state ON turns
WHEN NEW.state <> OLD.state AND instr(
    '|queued>running|queued>cancelled|queued>expired|queued>interrupted|running>done|running>failed|'
    || 'running>cancelled|running>waiting|running>interrupted|running>queued|waiting>queued|'
    || 'waiting>cancelled|waiting>expired|interrupted>queued|interrupted>waiting|interrupted>done|'
    || 'interrupted>cancelled|interrupted>expired|interrupted>parked|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
 AND NOT (NEW.state = 'failed' AND OLD.state NOT IN (
    'queued', 'running', 'waiting', 'interrupted', 'done', 'failed', 'cancelled', 'expired', 'parked'))
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

DROP TRIGGER tool_calls_follow_their_states;
CREATE TRIGGER tool_calls_follow_their_states BEFORE UPDATE OF state ON tool_calls
WHEN NEW.state <> OLD.state AND instr(
    '|planned>started|planned>skipped|started>done|started>failed|started>unknown|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
 AND NOT (NEW.state = 'unknown' AND OLD.state NOT IN (
    'planned', 'started', 'done', 'failed', 'unknown', 'skipped'))
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

DROP TRIGGER outbox_follow_their_states;
CREATE TRIGGER outbox_follow_their_states BEFORE UPDATE OF state ON outbox
WHEN NEW.state <> OLD.state AND instr(
    '|pending>sending|pending>failed|pending>expired|sending>sent|sending>pending|sending>unknown|'
    || 'sending>failed|unknown>sent|unknown>pending|unknown>failed|unknown>expired|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
 AND NOT (NEW.state = 'failed' AND OLD.state NOT IN (
    'pending', 'sending', 'unknown', 'sent', 'failed', 'expired'))
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

DROP TRIGGER inbox_follow_their_states;
CREATE TRIGGER inbox_follow_their_states BEFORE UPDATE OF state ON inbox
WHEN NEW.state <> OLD.state AND instr(
    '|waiting>taken|waiting>answered|waiting>executed|waiting>refused|waiting>offered|waiting>withdrawn|'
    || 'waiting>dropped|offered>waiting|offered>dropped|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
 AND NOT (NEW.state = 'dropped' AND OLD.state NOT IN (
    'waiting', 'offered', 'taken', 'answered', 'executed', 'refused', 'withdrawn', 'dropped'))
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

DROP TRIGGER questions_follow_their_states;
CREATE TRIGGER questions_follow_their_states BEFORE UPDATE OF state ON questions
WHEN NEW.state <> OLD.state AND instr(
    '|open>answered|open>expired|open>set_aside|open>undeliverable|open>cancelled|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
 AND NOT (NEW.state = 'expired' AND OLD.state NOT IN (
    'open', 'answered', 'expired', 'set_aside', 'undeliverable', 'cancelled'))
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

DROP TRIGGER processes_follow_their_states;
CREATE TRIGGER processes_follow_their_states BEFORE UPDATE OF state ON processes
WHEN NEW.state <> OLD.state AND instr(
    '|running>exited|running>killed|running>lost|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
 AND NOT (NEW.state = 'lost' AND OLD.state NOT IN (
    'running', 'exited', 'killed', 'lost'))
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

DROP TRIGGER goals_follow_their_states;
CREATE TRIGGER goals_follow_their_states BEFORE UPDATE OF state ON goals
WHEN NEW.state <> OLD.state AND instr(
    '|active>done|active>blocked|active>stopped|active>spent|',
    '|' || OLD.state || '>' || NEW.state || '|') = 0
 AND NOT (NEW.state = 'stopped' AND OLD.state NOT IN (
    'active', 'done', 'blocked', 'stopped', 'spent'))
BEGIN SELECT RAISE(ABORT, 'forbidden transition'); END;

-- What stands in the place of a result and is no place in the transcript may be replaced.
DROP TRIGGER results_are_not_moved;
CREATE TRIGGER results_are_not_moved BEFORE UPDATE OF result ON tool_calls
WHEN typeof(OLD.result) = 'integer' AND NEW.result IS NOT OLD.result
BEGIN SELECT RAISE(ABORT, 'a call has one result'); END;
