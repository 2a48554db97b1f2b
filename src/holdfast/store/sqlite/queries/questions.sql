-- name: answer_question
UPDATE questions SET state = 'answered', closed_at = :now, answer = :answer, answered_by = :by
WHERE id = :id AND state = 'open' AND expires_at > :now AND (asked_of IS NULL OR asked_of = :person)
  AND incarnation = (SELECT incarnation FROM sessions s WHERE s.id = questions.session AND s.ended_at IS NULL)
RETURNING turn, session, kind

-- name: open_questions
-- Those that `answer_question` would let somebody answer now.
SELECT q.id, q.kind, q.call, q.state, q.text, q.options, q.asked_of, q.expires_at, q.answer, q.call_hash, q.asked_at,
       NULL, NULL
FROM questions q JOIN sessions s ON s.id = q.session AND s.ended_at IS NULL AND s.incarnation = q.incarnation
WHERE q.turn = :turn AND q.state = 'open' AND q.expires_at > :now ORDER BY q.id

-- name: pressed_question
-- The same for the one whose button was pressed; from elsewhere only by who was asked.
SELECT q.id, q.kind, q.call, q.state, q.text, q.options, q.asked_of, q.expires_at, q.answer, q.call_hash, q.asked_at,
       NULL, NULL
FROM questions q JOIN sessions s ON s.id = q.session AND s.ended_at IS NULL AND s.incarnation = q.incarnation
WHERE q.id = :id AND q.state = 'open' AND q.expires_at > :now AND (s.chat = :chat OR q.asked_of = :person)

-- name: pressed_late
-- How that one stands if it cannot be answered any more; for the same people.
SELECT q.state FROM questions q JOIN sessions s ON s.id = q.session
WHERE q.id = :id AND (s.chat = :chat OR q.asked_of = :person)

-- name: set_aside_beside
-- What else of that turn the same person was asked.
UPDATE questions SET state = 'set_aside', closed_at = :now
WHERE turn = (SELECT turn FROM questions WHERE id = :id) AND state = 'open' AND id <> :id AND kind <> 'continue'
  AND (asked_of IS NULL OR asked_of = :person)
RETURNING id

-- name: bind_row
-- It waits for the turn whose question it set aside.
UPDATE inbox SET question = :question WHERE position = :position AND state = 'waiting'

-- name: answer_row
UPDATE inbox SET state = 'answered', question = :question, settled_at = :now
WHERE position = :position AND state = 'waiting'
RETURNING key

-- name: question_state
SELECT state FROM questions WHERE id = :id

-- name: close_question
UPDATE questions SET state = :state, closed_at = :now WHERE id = :id AND state = 'open' RETURNING turn, session, kind

-- name: questions_due
SELECT id FROM questions WHERE state = 'open' AND expires_at <= :now ORDER BY expires_at LIMIT :limit

-- name: wake_waiting_turn
-- Queued when nothing else of the turn is still asked, or the person said go on; and only from waiting: a
-- running turn sees it itself.
UPDATE turns SET state = 'queued' WHERE id = :turn AND state = 'waiting'
  AND (:anyway OR NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn = :turn AND q.state = 'open'))

-- name: answer_is_progress
UPDATE turns SET quarantined = 0,
       progress_at = CASE WHEN progress_at BETWEEN :now AND 253402300799999 THEN progress_at ELSE :now END
WHERE id = :turn

-- name: answer_continue
UPDATE questions SET state = 'answered', closed_at = :now, answer = :answer, answered_by = :by
WHERE turn = :turn AND state = 'open' AND kind = 'continue'
RETURNING id

-- name: consent
UPDATE turns SET consented = interruptions WHERE id = :turn
