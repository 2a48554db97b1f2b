-- name: orphans
SELECT t.id, t.session, t.last_owner, t.claimed_at, i.heartbeat_at
FROM turns t LEFT JOIN instances i ON i.id = t.owner
WHERE t.ended_at IS NULL AND t.state = 'running' AND t.owner <> :owner
ORDER BY t.id LIMIT :limit

-- name: interrupt_orphans
UPDATE turns SET state = 'interrupted', owner = NULL, suspect = 0, interruption = :reason, interrupted_at = :now,
       interruptions = interruptions + 1
WHERE id IN (SELECT value FROM json_each(:turns)) AND state = 'running'

-- name: remember_fatal_runs
-- How long a run lived before its process died: a suspect has to outlive twice the longest.
UPDATE sessions SET longest_fatal = max(longest_fatal, j.ran)
FROM (SELECT value ->> 0 AS session, value ->> 1 AS ran FROM json_each(:runs)) AS j
WHERE sessions.id = j.session

-- name: add_events
-- Many at once: pairs of subject and detail.
INSERT INTO events (at, instance, what, subject, detail)
SELECT :at, :instance, :what, value ->> 0, value ->> 1 FROM json_each(:pairs)

-- name: stale_turns
SELECT t.id, t.session, s.key, s.chat, t.generation, s.incarnation, s.suspended_at IS NOT NULL, t.stop, c.sender,
       t.tail,
       CASE WHEN t.tail = 'question' THEN
           (SELECT q.state FROM questions q WHERE q.turn = t.id AND q.kind <> 'continue' ORDER BY q.id DESC LIMIT 1) END,
       t.noted, s.strikes, t.interruptions, t.interruption, t.last_owner, t.progress_at,
       t.quarantined + CASE WHEN t.held = 'quarantine' THEN max(0, :now - t.held_since) ELSE 0 END,
       t.held, h.on_interruption,
       t.consented = t.interruptions,
       (SELECT i.sender FROM inbox i WHERE i.key = s.key AND i.state = 'waiting' AND i.kind <> 'command'
        ORDER BY i.position LIMIT 1),
       t.state
FROM turns t JOIN sessions s ON s.id = t.session JOIN inbox c ON c.position = t.cause
JOIN chats h ON h.address = s.chat
WHERE t.ended_at IS NULL AND t.state = 'interrupted' AND t.id > :after
ORDER BY t.id LIMIT :limit

-- name: stale_turn
SELECT t.id, t.session, s.key, s.chat, t.generation, s.incarnation, s.suspended_at IS NOT NULL, t.stop, c.sender,
       t.tail,
       CASE WHEN t.tail = 'question' THEN
           (SELECT q.state FROM questions q WHERE q.turn = t.id AND q.kind <> 'continue' ORDER BY q.id DESC LIMIT 1) END,
       t.noted, s.strikes, t.interruptions, t.interruption, NULL, t.progress_at, t.quarantined,
       t.held, h.on_interruption,
       t.consented = t.interruptions,
       (SELECT i.sender FROM inbox i WHERE i.key = s.key AND i.state = 'waiting' AND i.kind <> 'command'
        ORDER BY i.position LIMIT 1),
       t.state
FROM turns t JOIN sessions s ON s.id = t.session JOIN inbox c ON c.position = t.cause
JOIN chats h ON h.address = s.chat
WHERE t.id = :turn

-- name: requeue_stale
UPDATE turns SET state = 'queued', held = NULL, held_since = NULL,
       quarantined = quarantined + CASE WHEN held = 'quarantine' THEN max(0, :now - held_since) ELSE 0 END
FROM (SELECT value ->> 0 AS id, value ->> 1 AS generation, value ->> 2 AS incarnation FROM json_each(:guards)) AS g
WHERE turns.id = g.id AND turns.state = 'interrupted' AND turns.generation = g.generation
  AND (SELECT incarnation FROM sessions s WHERE s.id = turns.session) = g.incarnation
RETURNING id, session

-- name: ready_requeued
UPDATE conversations SET ready_at = coalesce(ready_at, :now), resume = 1
WHERE key IN (SELECT value FROM json_each(:keys))

-- name: hold_stale
UPDATE turns SET held = :row, held_since = :now,
       quarantined = quarantined + CASE WHEN held = 'quarantine' THEN max(0, :now - held_since) ELSE 0 END
FROM (SELECT value ->> 0 AS id, value ->> 1 AS generation FROM json_each(:guards)) AS g
WHERE turns.id = g.id AND turns.state = 'interrupted' AND turns.generation = g.generation AND turns.held IS NOT :row
RETURNING id

-- name: end_stale
-- One set-based write for a whole group decided by the same row.
UPDATE turns SET state = :state, ended_at = :now, why = :why, held = NULL
FROM (SELECT value ->> 0 AS id, value ->> 1 AS generation, value ->> 2 AS incarnation FROM json_each(:guards)) AS g
WHERE turns.id = g.id AND turns.state = 'interrupted' AND turns.generation = g.generation
  AND (SELECT incarnation FROM sessions s WHERE s.id = turns.session) = g.incarnation
RETURNING id, session, stop

-- name: wait_stale
UPDATE turns SET state = 'waiting', held = NULL, noted = CASE WHEN :ask THEN noted ELSE interruptions END
FROM (SELECT value ->> 0 AS id, value ->> 1 AS generation, value ->> 2 AS incarnation FROM json_each(:guards)) AS g
WHERE turns.id = g.id AND turns.state = 'interrupted' AND turns.generation = g.generation
  AND (SELECT incarnation FROM sessions s WHERE s.id = turns.session) = g.incarnation
  AND (:ask OR EXISTS (SELECT 1 FROM questions q WHERE q.turn = turns.id AND q.state = 'open'))
RETURNING id, session

-- name: turns_with_open_calls
SELECT DISTINCT turn FROM tool_calls WHERE settled_at IS NULL AND turn IN (SELECT value FROM json_each(:turns))

-- name: cancel_questions_of
UPDATE questions SET state = 'cancelled', closed_at = :now
WHERE state = 'open' AND turn IN (SELECT value FROM json_each(:turns))

-- name: after_stale_end
UPDATE sessions SET generation = generation + 1,
       completed_at = CASE WHEN :done THEN :now ELSE completed_at END,
       strikes = CASE WHEN :done THEN 0 ELSE strikes END
WHERE id IN (SELECT value FROM json_each(:sessions))

-- name: suspend_sessions
UPDATE sessions SET suspended_at = :now, suspended_why = :why, incarnation = incarnation + 1
WHERE id IN (SELECT value FROM json_each(:sessions)) AND suspended_at IS NULL

-- name: blame_instances
UPDATE instances SET led_to_park = 1
WHERE id IN (SELECT last_owner FROM turns WHERE id IN (SELECT value FROM json_each(:turns)))

-- name: ready_freed
-- Conversations whose open turn has just ended: ready if something waits.
UPDATE conversations SET resume = 0, ready_at = CASE WHEN EXISTS (
    SELECT 1 FROM inbox i WHERE i.key = conversations.key AND i.state = 'waiting' AND i.kind <> 'command')
    THEN coalesce(ready_at, :now) END
WHERE key IN (SELECT value FROM json_each(:keys))
