-- name: told
SELECT 1 FROM outbox WHERE dedupe = :dedupe LIMIT 1

-- name: take_numbers
UPDATE chats SET last_number = last_number + :parts WHERE address = :chat RETURNING last_number

-- name: add_delivery
INSERT INTO outbox (id, chat, number, session, turn, kind, dedupe, part, parts, body, reply_to, options, created_at)
VALUES (:id, :chat, :number, :session, :turn, :kind, :dedupe, :part, :parts, :body, :reply_to, :options, :now)

-- name: refresh_chat
-- The next owed part decides when the chat is looked at: pending → its time, in flight or unknown → not now.
UPDATE chats SET send_at = (
    SELECT CASE WHEN o.state = 'pending' THEN max(o.not_before, chats.throttled_until) END
    FROM outbox o WHERE o.chat = chats.address AND o.settled_at IS NULL ORDER BY o.number LIMIT 1)
WHERE address = :chat
RETURNING send_at
