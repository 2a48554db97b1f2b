-- name: add_notice
-- A session has one notice at most.
INSERT INTO notices (session, delivery, turn, generation)
SELECT :session, o.id, :turn, :generation FROM outbox o WHERE o.dedupe = :dedupe AND o.part = 1

-- name: notice_of
SELECT delivery FROM notices WHERE session = :session

-- name: live_notices
SELECT o.id, o.chat, o.number, o.kind, o.part, o.parts, o.body, o.options, o.files, o.reply_to, o.dedupe, o.state, o.attempts,
       o.repeated, o.created_at, o.claimed_at, o.settled_at, o.platform_id, o.reason, o.session, o.turn, o.tried,
       o.repeats, o.failing_since, o.overtaken_at, o.aside_at,
       t.state,
       t.state = 'running' AND t.generation = n.generation AND t.owner = :owner
FROM notices n JOIN outbox o ON o.id = n.delivery JOIN turns t ON t.id = n.turn

-- name: give_up_notice
-- A pending part that is not marked as a possible repeat was never sent, so no person has seen it.
UPDATE outbox SET state = 'expired', settled_at = :now, reason = :reason
WHERE id = :id AND state = 'pending' AND repeated = 0 AND EXISTS (SELECT 1 FROM notices n WHERE n.delivery = :id)
RETURNING chat

-- name: reword_notice
UPDATE outbox SET body = :text
WHERE id = :id AND settled_at IS NULL AND state <> 'sending'
  AND EXISTS (SELECT 1 FROM notices n WHERE n.delivery = :id)

-- name: forget_notice
DELETE FROM notices WHERE delivery = :id

-- name: last_delivery
SELECT max(id) FROM outbox

-- name: asked_after
-- Messages that have or will have buttons, and cards of the model or of safe mode that do not say yet that
-- their question was closed without an answer.
SELECT o.id, o.chat, o.number, o.kind, o.part, o.parts, o.body, o.options, o.files, o.reply_to, o.dedupe, o.state, o.attempts,
       o.repeated, o.created_at, o.claimed_at, o.settled_at, o.platform_id, o.reason, o.session, o.turn, o.tried,
       o.repeats, o.failing_since, o.overtaken_at, o.aside_at,
       q.id, q.kind, q.state, q.answer, q.asked_by
FROM outbox o JOIN questions q ON q.id = o.dedupe
WHERE o.id > :after AND o.kind = 'question' AND o.part = o.parts AND o.body IS NOT NULL
  AND (o.options <> '[]' AND (o.settled_at IS NULL OR o.state = 'sent' AND o.platform_id IS NOT NULL)
       OR (q.kind = 'clarify' OR q.asked_by = 'safe_mode_suspect') AND q.shown_closed = 0 AND q.state IN ('open', 'expired', 'undeliverable'))
ORDER BY o.id

-- name: forget_buttons
UPDATE outbox SET options = '[]' WHERE id = :id AND kind = 'question' AND state = 'sent'

-- name: show_closed
UPDATE questions SET shown_closed = 1
WHERE state <> 'open' AND id = (SELECT dedupe FROM outbox o WHERE o.id = :id AND o.settled_at IS NOT NULL)
