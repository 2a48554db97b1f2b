-- name: sessions_page
SELECT s.id, s.key, s.began, s.began_at, s.ended_at, s.suspended_at IS NOT NULL, s.strikes,
       t.id, t.state, t.held, s.completed_at,
       EXISTS (SELECT 1 FROM conversations c WHERE c.key = s.key AND c.held_at IS NOT NULL AND s.ended_at IS NULL)
FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn
WHERE s.id < :before AND (NOT :live_only OR s.ended_at IS NULL)
ORDER BY s.id DESC LIMIT :limit

-- name: sessions_of_key
SELECT s.id, s.key, s.began, s.began_at, s.ended_at, s.suspended_at IS NOT NULL, s.strikes,
       t.id, t.state, t.held, s.completed_at,
       EXISTS (SELECT 1 FROM conversations c WHERE c.key = s.key AND c.held_at IS NOT NULL AND s.ended_at IS NULL)
FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn
WHERE s.key = :key AND s.id < :before AND (NOT :live_only OR s.ended_at IS NULL)
ORDER BY s.id DESC LIMIT :limit

-- name: chats_live
-- The chats of one account (`platform/account/`) with a live session, by the index that has the order of the
-- page.
SELECT s.chat, s.id, s.last_turn,
       max(s.began_at, coalesce(s.completed_at, 0), coalesce(t.progress_at, t.begun_at, 0)), t.state,
       (SELECT e.body FROM entries e WHERE e.session = s.id AND e.kind = 'said' ORDER BY e.seq LIMIT 1)
FROM sessions s INDEXED BY sessions_by_work CROSS JOIN turns t ON t.id = s.last_turn
WHERE s.ended_at IS NULL AND s.last_turn IS NOT NULL AND s.last_turn < :before
  AND substr(s.key, 1, instr(s.key, '/') + instr(substr(s.key, instr(s.key, '/') + 1), '/')) = :account
ORDER BY s.last_turn DESC LIMIT :limit

-- name: turns_of_session
-- From the last turn back: the entry before the first entry of a turn belongs to the turn before it.
WITH RECURSIVE back (id) AS (
    SELECT last_turn FROM sessions WHERE id = :session AND last_turn IS NOT NULL
    UNION ALL
    SELECT e.turn FROM back JOIN turns t ON t.id = back.id
    JOIN entries e ON e.session = :session AND e.seq = t.first_seq - 1
    LIMIT :limit)
SELECT t.id, t.session, t.cause, t.state, t.generation, t.attempt, t.owner, t.begun_at, t.claimed_at, t.progress_at,
       t.tail, t.noted, t.interruptions, t.interrupted_at, t.interruption, t.stop, t.held, t.ended_at, t.why, t.last_seq
FROM back CROSS JOIN turns t ON t.id = back.id ORDER BY t.id DESC

-- name: arrivals_of
-- The rows that came for a session while it lasted, its commands too. It has no index: it is seldom used and
-- may be slow.
SELECT i.position, i.account, i.event_id, i.key, i.chat, i.sender, i.kind, i.body, i.message_id, i.sent_at,
       i.accepted_at, i.state, i.turn, i.question, i.reason
FROM sessions s JOIN inbox i ON i.key = s.key LEFT JOIN turns t ON t.id = i.turn
WHERE s.id = :session AND (t.session = s.id OR (t.id IS NULL AND i.accepted_at >= s.began_at
                           AND (s.ended_at IS NULL OR i.accepted_at <= s.ended_at)))
ORDER BY i.position

-- name: session_of
SELECT session FROM turns WHERE id = :turn

-- name: events_of
-- If times are equal, events sort between the first and the last moments of rows.
SELECT at, 2, id, what, subject, instance, detail FROM events WHERE subject = :subject

-- name: rows_of_story
-- What the rows themselves keep about a message, in the columns of `events_of`, with the process run of that
-- time. A final state is listed once: if an event has it in more detail, the row is left out. A call is
-- listed with its name and its times, never with its arguments.
SELECT r.at, r.rank, r.id, r.what, r.subject,
       (SELECT instances.id FROM instances WHERE started_at <= r.at ORDER BY instances.id DESC LIMIT 1), r.detail
FROM (SELECT accepted_at AS at, 0 AS rank, position AS id, 'accepted' AS what, 'inbox:' || position AS subject,
             json_object('kind', kind) AS detail
      FROM inbox WHERE position = :position
      UNION ALL
      SELECT settled_at, CASE WHEN state = 'taken' THEN 0 ELSE 3 END, position + 1, state, 'inbox:' || position,
             json_patch('{}', json_object('turn', turn, 'question', question, 'reason', reason))
      FROM inbox WHERE position = :position AND settled_at IS NOT NULL
      UNION ALL
      SELECT begun_at, 1, 0, 'claimed', 'turn:' || id, NULL
      FROM turns WHERE id = :turn
      UNION ALL
      SELECT ended_at, 3, 0, state, 'turn:' || id, CASE WHEN why IS NOT NULL THEN json_object('why', why) END
      FROM turns WHERE id = :turn AND ended_at IS NOT NULL
      UNION ALL
      SELECT planned_at, 1, 2 * place, 'planned', 'call:' || id, json_object('tool', name, 'class', effect)
      FROM tool_calls WHERE turn = :turn
      UNION ALL
      SELECT started_at, 1, 2 * place + 1, 'started', 'call:' || id,
             json_patch('{}', json_object('tool', name, 'runs', CASE WHEN runs > 1 THEN runs END))
      FROM tool_calls WHERE turn = :turn AND started_at IS NOT NULL
      UNION ALL
      SELECT settled_at, 2, place, state, 'call:' || id, json_object('tool', name)
      FROM tool_calls WHERE turn = :turn AND settled_at IS NOT NULL
      UNION ALL
      SELECT o.settled_at, 4, o.id, o.state, 'delivery:' || o.id,
             json_patch('{}', json_object('platform_id', o.platform_id, 'reason', o.reason))
      FROM outbox o
      WHERE o.turn = :turn AND o.settled_at IS NOT NULL
        AND o.chat = (SELECT s.chat FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = :turn)) r
WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.subject = r.subject AND e.what = r.what AND r.rank >= 3)

-- name: deliveries_of_turn
SELECT id FROM outbox
WHERE turn = :turn AND chat = (SELECT s.chat FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = :turn)

-- name: questions_asked_in
SELECT id FROM questions WHERE turn = :turn

-- name: previous_instance
SELECT id, host, pid, boot, version, started_at, heartbeat_at, stopped, stopped_at, led_to_park
FROM instances WHERE id < :instance ORDER BY id DESC LIMIT 1

-- name: keep_continuity
INSERT INTO events (at, instance, what, subject, detail)
SELECT :now, :instance, 'continuity', 'instance:' || :instance, :report
WHERE NOT EXISTS (SELECT 1 FROM events WHERE subject = 'instance:' || :instance AND what = 'continuity')

-- name: continuity_reports
SELECT instances.id, e.at, e.detail
FROM instances CROSS JOIN events e ON e.subject = 'instance:' || instances.id AND e.what = 'continuity'
ORDER BY instances.id DESC LIMIT :limit

-- name: open_turns
SELECT id, state, interruption FROM turns INDEXED BY one_open_turn
WHERE ended_at IS NULL AND state IN ('queued', 'running', 'waiting', 'interrupted') ORDER BY id LIMIT :limit

-- name: count_owed
SELECT count(*) FROM outbox WHERE settled_at IS NULL AND state <> 'unknown'

-- name: count_unknown
SELECT count(*) FROM outbox WHERE state = 'unknown'

-- name: count_waiting
SELECT count(*) FROM inbox WHERE state = 'waiting' AND kind <> 'command'

-- name: forget_events
-- Events are in the order of their ids, so only the oldest are read.
DELETE FROM events WHERE at < :before AND id IN (SELECT id FROM events ORDER BY id LIMIT :limit)

-- name: forget_set_aside
DELETE FROM set_aside WHERE at < :before AND id IN (SELECT id FROM set_aside ORDER BY id LIMIT :limit)

-- name: forget_instances
-- A process run that unfinished work still names is kept.
DELETE FROM instances WHERE id IN (
    SELECT i.id FROM instances i
    WHERE i.started_at < :before AND i.id <> :instance
      AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.ended_at IS NULL AND t.last_owner = i.id)
      AND NOT EXISTS (SELECT 1 FROM outbox o INDEXED BY outbox_unsettled
                      WHERE o.settled_at IS NULL AND o.owner = i.id)
    ORDER BY i.id LIMIT :limit)
