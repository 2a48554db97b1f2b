-- name: answer_question
UPDATE questions SET state = 'answered', closed_at = :now, answer = :answer, answered_by = :by
WHERE id = :id AND state = 'open' AND expires_at > :now AND (asked_of IS NULL OR asked_of = :person)
  AND incarnation = (SELECT incarnation FROM sessions s WHERE s.id = questions.session AND s.ended_at IS NULL)
RETURNING turn, session, kind

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

-- name: consent
UPDATE turns SET consented = interruptions WHERE id = :turn
