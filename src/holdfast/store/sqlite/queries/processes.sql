-- name: running_processes
SELECT id, session, incarnation, generation, turn, pid, started_ticks, command, log, notify, patterns, state,
       exit_code, consumed, matches, started_at, ended_at, boot, watched, missed
FROM processes WHERE state = 'running' ORDER BY id

-- name: session_processes
SELECT id, session, incarnation, generation, turn, pid, started_ticks, command, log, notify, patterns, state,
       exit_code, consumed, matches, started_at, ended_at, boot, watched, missed
FROM processes WHERE session = :session ORDER BY id

-- name: known_process
SELECT id, session, incarnation, generation, turn, pid, started_ticks, command, log, notify, patterns, state,
       exit_code, consumed, matches, started_at, ended_at, boot, watched, missed
FROM processes WHERE id = :id

-- name: end_process
UPDATE processes SET state = :state, exit_code = :exit_code, ended_at = :now,
       consumed = CASE WHEN :state = 'killed' THEN 1 ELSE consumed END
WHERE id = :id AND state = 'running'
RETURNING session, incarnation, turn, notify, consumed, command

-- name: consume_process
UPDATE processes SET consumed = 1 WHERE id = :id AND consumed = 0

-- name: match_process
-- Each number counts once, and none beyond the cap. After an end that wakes the session, matches count no
-- more.
UPDATE processes SET matches = :number, watched = max(watched, :upto)
WHERE id = :id AND consumed = 0 AND matches < :number AND :number <= :cap AND NOT (notify AND state <> 'running')
RETURNING session, incarnation, turn, generation

-- name: miss_match
-- The session is not woken for this match: the next turn mentions it.
UPDATE processes SET missed = missed + 1 WHERE id = :id

-- name: look_at_process
-- A turn that looks has seen the missed matches; from here on it is told of new ones.
UPDATE processes SET generation = :generation, missed = 0 WHERE id = :id AND session = :session

-- name: adopt_process
-- A turn started the process but could not record it: it still belongs to this turn and is erased with it.
INSERT INTO processes (id, session, incarnation, generation, turn, boot, pid, started_ticks, command, log, notify,
                       patterns, started_at)
SELECT :id, s.id, s.incarnation, t.generation, t.id, :boot, :pid, :started_ticks,
       CASE WHEN s.ended_why IS NOT 'forgotten' THEN :command END, :log, :notify,
       CASE WHEN s.ended_why IS NOT 'forgotten' THEN :patterns ELSE '[]' END, :now
FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = :turn
ON CONFLICT DO NOTHING

-- name: session_at_rest
SELECT s.key, s.chat, s.generation, s.incarnation, CASE WHEN t.ended_at IS NULL THEN t.state END, t.ended_at
FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn
WHERE s.id = :session AND s.ended_at IS NULL

-- name: sender_of_turn
SELECT i.sender FROM turns t JOIN inbox i ON i.position = t.cause WHERE t.id = :turn

-- name: drop_wakeups
-- The wake-ups of one process are neighbours in the index of event ids.
UPDATE inbox SET state = 'dropped', reason = :reason, settled_at = :now
WHERE account = :account AND event_id >= :from_id AND event_id < :to_id AND state = 'waiting'
RETURNING key
