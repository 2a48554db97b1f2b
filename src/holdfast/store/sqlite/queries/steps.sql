-- name: step_turn
-- The fence, the progress and the numbers of new entries in one write; zero rows means that the run is stale.
UPDATE turns SET
    tail = coalesce(:tail, tail),
    noted = max(noted, :noted),
    progress_at = CASE WHEN NOT :progress THEN progress_at
                       WHEN progress_at BETWEEN :now AND 253402300799999 THEN progress_at ELSE :now END,
    progress_mark = CASE WHEN :progress THEN :mark ELSE progress_mark END,
    quarantined = CASE WHEN :progress THEN 0 ELSE quarantined END,
    productive = max(productive, :productive),
    last_seq = last_seq + :count
WHERE id = :turn AND session = :session AND state = 'running' AND generation = :generation AND owner = :owner
  AND (SELECT generation FROM sessions WHERE id = :session) = :generation
RETURNING stop, last_seq, (
    SELECT count(*) FROM inbox WHERE key = (SELECT key FROM sessions WHERE id = :session)
       AND state = 'waiting' AND kind <> 'command')

-- name: plan_call
-- A call that is planned and started in one commit is written once.
INSERT INTO tool_calls (turn, id, place, name, arguments, effect, planned_at,
                        state, generation, runs, started_at)
VALUES (:turn, :id, :place, :name, :arguments, :effect, :now,
        CASE WHEN :start THEN 'started' ELSE 'planned' END, CASE WHEN :start THEN :generation ELSE 0 END, :start,
        CASE WHEN :start THEN :now END)

-- name: start_call
-- Committed before the effect. A call that was cut off in an older run starts again under the same key,
-- unless it is an effect: that one the schema refuses to run twice.
UPDATE tool_calls SET state = 'started', generation = :generation, runs = runs + 1,
       started_at = coalesce(started_at, :now)
WHERE turn = :turn AND id = :id
  AND (state = 'planned' OR (state = 'started' AND generation < :generation AND effect IN ('read', 'idempotent')))

-- name: settle_call
UPDATE tool_calls SET state = :state, settled_at = :now, result = :seq
WHERE turn = :turn AND id = :id AND settled_at IS NULL AND ((state = 'planned') = (:state = 'skipped'))

-- name: state_of_call
SELECT state FROM tool_calls WHERE turn = :turn AND id = :id

-- name: unsettled_calls
-- Each call with the kind and state of its question that was closed without an answer, if there is one, and
-- with its recorded output.
SELECT c.turn, c.id, c.name, c.state,
       (SELECT q.kind || ' ' || q.state FROM questions q
        WHERE q.turn = c.turn AND q.call = c.id AND q.state IN ('expired', 'undeliverable')
        ORDER BY q.asked_at DESC LIMIT 1),
       coalesce(p.text, '')
FROM tool_calls c LEFT JOIN partials p ON p.turn = c.turn AND p.call = c.id
WHERE c.turn IN (SELECT value FROM json_each(:turns)) AND c.settled_at IS NULL ORDER BY c.turn, c.place

-- name: add_usage
INSERT INTO usage (turn, seq, chat, model, tokens_in, tokens_out, cost_microusd, at)
SELECT :turn, (SELECT count(*) + 1 FROM usage WHERE turn = :turn), s.chat, :model, :tokens_in, :tokens_out, :cost, :now
FROM sessions s WHERE s.id = :session

-- name: spent_in_turn
SELECT coalesce(sum(tokens_in + tokens_out), 0), coalesce(sum(cost_microusd), 0) FROM usage WHERE turn = :turn

-- name: spent_in_chat
SELECT coalesce(sum(tokens_in + tokens_out), 0), coalesce(sum(cost_microusd), 0) FROM usage
WHERE chat = :chat AND at >= :since

-- name: granted_since
-- The questions that people answered with "continue" in this turn and in the chat's turns with usage since
-- then.
SELECT id FROM questions
WHERE turn IN (SELECT turn FROM usage WHERE chat = :chat AND at >= :since UNION SELECT :turn)
  AND kind = 'continue' AND answer = 'continue' AND closed_at >= :since

-- name: add_question
INSERT INTO questions (id, session, incarnation, turn, call, kind, call_hash, asked_of, text, options, asked_at, expires_at,
                       asked_by, of_owner, offers)
SELECT :id, s.id, s.incarnation, :turn, :call, :kind, :call_hash, :asked_of, :text, :options, :now, :expires_at, :asked_by,
       :of_owner, :offers
FROM sessions s WHERE s.id = :session

-- name: add_process
-- The process may have been found on the disk before its turn could record it.
INSERT INTO processes (id, session, incarnation, generation, turn, boot, pid, started_ticks, command, log, notify,
                       patterns, started_at)
SELECT :id, s.id, s.incarnation, :generation, :turn, :boot, :pid, :started_ticks, :command, :log, :notify, :patterns, :now
FROM sessions s WHERE s.id = :session
ON CONFLICT (id) DO UPDATE SET generation = excluded.generation

-- name: mark_guard
-- An undo or a summary is allowed only between turns, on the session as the caller saw it.
SELECT s.last_turn FROM sessions s JOIN turns t ON t.id = s.last_turn
WHERE s.id = :session AND s.generation = :generation AND s.ended_at IS NULL AND t.ended_at IS NOT NULL

-- name: forget_tail
-- If an undo hides the whole turn, a later note has nothing to be about.
UPDATE turns SET tail = 'nothing' WHERE id = :turn AND first_seq >= :first

-- name: undone_since
SELECT 1 FROM entries WHERE session = :session AND seq > :seq AND kind = 'undone' LIMIT 1
