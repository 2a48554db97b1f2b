-- name: finish_turn
-- The end of a turn by the process that runs it: the fence of `step_turn`, the last entries and the final
-- state at once.
UPDATE turns SET
    state = :state, owner = NULL, ended_at = :now, why = :why, suspect = 0,
    tail = coalesce(:tail, tail),
    progress_at = CASE WHEN NOT :progress THEN progress_at
                       WHEN progress_at BETWEEN :now AND 253402300799999 THEN progress_at ELSE :now END,
    progress_mark = CASE WHEN :progress THEN :mark ELSE progress_mark END,
    last_seq = last_seq + :count
WHERE id = :turn AND session = :session AND state = 'running' AND generation = :generation AND owner = :owner
  AND (SELECT generation FROM sessions WHERE id = :session) = :generation
RETURNING stop, last_seq, EXISTS (SELECT 1 FROM tool_calls c WHERE c.turn = :turn AND c.settled_at IS NULL)
          OR EXISTS (SELECT 1 FROM partials p WHERE p.turn = :turn),
          EXISTS (SELECT 1 FROM questions q WHERE q.turn = :turn AND q.state = 'open')

-- name: end_turn
UPDATE turns SET state = :state, owner = NULL, ended_at = :now, why = :why, suspect = 0, held = NULL
WHERE id = :turn

-- name: after_done
UPDATE sessions SET strikes = 0, deaths = 0, cuts = 0, follows_park = 0, longest_fatal = 0, completed_at = :now
WHERE id = :session
RETURNING key, EXISTS (
    SELECT 1 FROM inbox i WHERE i.key = sessions.key AND i.state = 'waiting' AND i.kind <> 'command'),
    EXISTS (SELECT 1 FROM goals g WHERE g.session = sessions.id AND g.state = 'active')

-- name: take_strike_back
UPDATE sessions SET strikes = max(strikes - 1, 0) WHERE id = :session
RETURNING key, EXISTS (
    SELECT 1 FROM inbox i WHERE i.key = sessions.key AND i.state = 'waiting' AND i.kind <> 'command'), 0

-- name: take_strike_of_run_back
UPDATE sessions SET strikes = max(strikes - 1, 0)
WHERE id = :session AND EXISTS (SELECT 1 FROM turns t WHERE t.id = :turn AND t.state = 'running')

-- name: bump_generation
UPDATE sessions SET generation = generation + 1 WHERE id = :session

-- name: model_asks
SELECT 1 FROM questions WHERE turn = :turn AND state = 'open' AND kind <> 'continue' LIMIT 1

-- name: got_no_answer
-- A question of the model was closed without an answer and its call waits for one; no other question is open.
SELECT 1 FROM questions q JOIN tool_calls c ON c.turn = q.turn AND c.id = q.call AND c.settled_at IS NULL
WHERE q.turn = :turn AND q.kind = 'clarify' AND q.state IN ('expired', 'undeliverable')
  AND NOT EXISTS (SELECT 1 FROM questions o WHERE o.turn = :turn AND o.state = 'open')
LIMIT 1

-- name: replies_to
-- The chat that gets the reply of a turn, and the message that it answers.
SELECT s.chat, i.message_id
FROM turns t JOIN sessions s ON s.id = t.session JOIN inbox i ON i.position = t.cause WHERE t.id = :turn

-- name: lay_down_turn
UPDATE turns SET state = 'waiting', owner = NULL, last_owner = NULL, suspect = 0 WHERE id = :turn

-- name: wait_turn
UPDATE turns SET state = 'waiting', owner = NULL, last_owner = NULL, suspect = 0
WHERE id = :turn AND EXISTS (SELECT 1 FROM questions WHERE turn = :turn AND state = 'open')

-- name: queue_turn
UPDATE turns SET state = 'queued', owner = NULL, last_owner = NULL, suspect = 0, held = NULL WHERE id = :turn

-- name: interrupt_turn
UPDATE turns SET state = 'interrupted', owner = NULL, suspect = 0, interruption = :reason, interrupted_at = :now,
       interruptions = interruptions + 1
WHERE id = :turn
RETURNING productive, interruptions

-- name: clear_suspect
UPDATE turns SET suspect = 0 WHERE id = :turn

-- name: clear_strikes
UPDATE sessions SET strikes = 0, deaths = 0, cuts = 0, follows_park = 0, longest_fatal = 0 WHERE id = :session

-- name: count_cut
UPDATE sessions SET cuts = cuts + 1 WHERE id = :session

-- name: ask_stop
-- A stop that ends the session as well is not replaced by a plain one, and a request to erase by no other.
UPDATE turns SET stop = :kind, stop_at = :now
WHERE id = :turn AND (stop IS NULL OR stop NOT IN ('new', 'forget') OR :kind = 'forget')

-- name: stops
SELECT id FROM turns INDEXED BY turns_stopping WHERE owner = :owner AND stop IS NOT NULL ORDER BY id

-- name: cancel_questions
UPDATE questions SET state = 'cancelled', closed_at = :now WHERE turn = :turn AND state = 'open'
