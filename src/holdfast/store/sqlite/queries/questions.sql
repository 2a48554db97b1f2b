-- name: answer_question
-- A call may be allowed only if the person has seen the whole question: the buttons are below the last part,
-- and all earlier parts must have arrived.
UPDATE questions SET state = 'answered', closed_at = :now, answer = :answer, answered_by = :by
WHERE id = :id AND state = 'open' AND expires_at > :now AND (asked_of IS NULL OR asked_of = :person)
  AND (of_owner = 0 OR :owner)
  AND (NOT :always OR kind <> 'approval' OR (:owner AND offers IS NOT NULL))
  AND NOT (:allows AND EXISTS (SELECT 1 FROM outbox o WHERE o.dedupe = questions.id AND o.part < o.parts
                                                        AND o.state <> 'sent'))
  AND incarnation = (SELECT incarnation FROM sessions s WHERE s.id = questions.session AND s.ended_at IS NULL)
RETURNING turn, session, kind

-- name: open_questions
-- The questions that `answer_question` would accept an answer to now.
SELECT q.id, q.kind, q.call, q.state, q.text, q.options, q.asked_of, q.expires_at, q.answer, q.call_hash, q.asked_at,
       NULL, NULL, q.asked_by, q.of_owner
FROM questions q JOIN sessions s ON s.id = q.session AND s.ended_at IS NULL AND s.incarnation = q.incarnation
WHERE q.turn = :turn AND q.state = 'open' AND q.expires_at > :now ORDER BY q.id

-- name: pressed_question
-- The same for a question whose button was pressed; from another chat only by the person who was asked.
SELECT q.id, q.kind, q.call, q.state, q.text, q.options, q.asked_of, q.expires_at, q.answer, q.call_hash, q.asked_at,
       NULL, NULL, q.asked_by, q.of_owner
FROM questions q JOIN sessions s ON s.id = q.session AND s.ended_at IS NULL AND s.incarnation = q.incarnation
WHERE q.id = :id AND q.state = 'open' AND q.expires_at > :now
  AND (s.chat = :chat OR q.asked_of = :person OR q.of_owner AND :owner)

-- name: pressed_late
-- The state of such a question when it can no longer be answered; for the same people.
SELECT q.state, q.asked_by FROM questions q JOIN sessions s ON s.id = q.session
WHERE q.id = :id AND (s.chat = :chat OR q.asked_of = :person OR q.of_owner AND :owner)

-- name: unshown_parts
-- Whether a part of the question's message has not arrived; the last part has, if the person pressed its
-- button.
SELECT 1 FROM outbox WHERE dedupe = :id AND parts > 1 AND state <> 'sent' AND (part < parts OR NOT :pressed) LIMIT 1

-- name: replied_question
-- The question to whose message a person replies; searched among the last messages of the chat.
SELECT q.id, q.kind, q.call, q.state, q.text, q.options, q.asked_of, q.expires_at, q.answer, q.call_hash, q.asked_at,
       NULL, NULL, q.asked_by, q.of_owner
FROM outbox o JOIN questions q ON q.id = o.dedupe
WHERE o.chat = :chat AND o.number > (SELECT last_number - 500 FROM chats WHERE address = :chat)
  AND o.platform_id = :message AND o.kind = 'question'

-- name: owner_questions
-- By the index of owner questions: most chats have none.
SELECT q.id, q.kind, q.call, q.state, q.text, q.options, q.asked_of, q.expires_at, q.answer, q.call_hash, q.asked_at,
       q.closed_at, i.sender, q.asked_by, q.of_owner
FROM questions q CROSS JOIN outbox o LEFT JOIN inbox i ON i.position = q.answered_by
WHERE q.of_owner = 1 AND o.dedupe = q.id AND o.part = 1 AND o.chat = :chat
ORDER BY q.asked_at DESC, q.id DESC LIMIT :limit

-- name: set_aside_beside
-- The other questions of that turn to the same person.
UPDATE questions SET state = 'set_aside', closed_at = :now
WHERE turn = (SELECT turn FROM questions WHERE id = :id) AND state = 'open' AND id <> :id AND kind <> 'continue'
  AND (asked_of IS NULL OR asked_of = :person) AND of_owner = 0
RETURNING id

-- name: bind_row
-- The row waits for the turn whose question it set aside.
UPDATE inbox SET question = :question WHERE position = :position AND state = 'waiting'

-- name: answer_row
UPDATE inbox SET state = 'answered', question = :question, settled_at = :now
WHERE position = :position AND state = 'waiting'
RETURNING key

-- name: state_of_turn
SELECT state, why FROM turns WHERE id = :turn

-- name: question_state
SELECT state FROM questions WHERE id = :id

-- name: close_question
-- Only an answer or the end of safe mode closes a question of safe mode.
UPDATE questions SET state = :state, closed_at = :now
WHERE id = :id AND state = 'open' AND asked_by IS NOT 'safe_mode_suspect'
RETURNING turn, session, kind, min(expires_at, :now)

-- name: withdraw_questions
UPDATE questions SET state = 'expired', closed_at = :now
WHERE state = 'open' AND asked_by = 'safe_mode_suspect' AND (:only IS NULL OR id = :only)
RETURNING id, turn, session, asked_at

-- name: keep_asking
UPDATE questions SET expires_at = :until
WHERE state = 'open' AND asked_by = 'chat_says_ask' AND expires_at < :due AND (:only IS NULL OR id = :only)

-- name: questions_to_withdraw
SELECT id FROM questions WHERE state = 'open' AND asked_by = 'safe_mode_suspect'

-- name: questions_to_keep
SELECT id FROM questions WHERE state = 'open' AND asked_by = 'chat_says_ask' AND expires_at < :due

-- name: give_back_to_recovery
-- The turn waited because of safe mode, so this time does not age the work.
UPDATE turns SET state = 'interrupted',
       quarantined = CASE WHEN quarantined BETWEEN 0 AND 253402300799999 THEN quarantined ELSE 0 END
           + CASE WHEN :since BETWEEN 0 AND :now THEN :now - :since ELSE 0 END
WHERE id = :turn AND state = 'queued'

-- name: questions_due
SELECT id, turn FROM questions WHERE state = 'open' AND expires_at <= :now ORDER BY expires_at LIMIT :limit

-- name: wake_waiting_turn
-- Queue the turn if no other question of it is open, or if the person said continue. Only a waiting turn: a
-- running turn sees the answer itself.
UPDATE turns SET state = 'queued' WHERE id = :turn AND state = 'waiting'
  AND (:anyway OR NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn = :turn AND q.state = 'open'))

-- name: leave_unanswered
-- Only a turn that waits (or is claimed again) and has no other open question: a running turn ends when it
-- would wait.
UPDATE turns SET state = 'expired', ended_at = :now, why = :why WHERE id = :turn AND state = :state
  AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn = :turn AND q.state = 'open')
RETURNING interruptions

-- name: answer_is_progress
UPDATE turns SET quarantined = 0, progress_mark = :mark,
       progress_at = CASE WHEN progress_at BETWEEN :now AND 253402300799999 THEN progress_at ELSE :now END
WHERE id = :turn

-- name: answer_continue
-- A row answers one question: if several are open, the first one names the row.
UPDATE questions SET state = 'answered', closed_at = :now, answer = :answer,
       answered_by = CASE WHEN id = (SELECT min(q.id) FROM questions q
                                     WHERE q.turn = :turn AND q.state = 'open' AND q.kind = 'continue') THEN :by END
WHERE turn = :turn AND state = 'open' AND kind = 'continue'
RETURNING id

-- name: consent
UPDATE turns SET consented = interruptions WHERE id = :turn
