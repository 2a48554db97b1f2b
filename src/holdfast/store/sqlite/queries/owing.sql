-- name: told
SELECT dedupe FROM outbox WHERE dedupe IN (SELECT value FROM json_each(:dedupes)) AND part = 1

-- name: take_numbers
-- No numbers for a message that was owed before. If the chat is owed another part already, its due time stays
-- as it is.
UPDATE chats SET
    last_number = last_number + :parts,
    send_at = CASE WHEN EXISTS (SELECT 1 FROM outbox o WHERE o.chat = :chat AND o.settled_at IS NULL
                                  AND (o.aside_at IS NULL OR o.state = 'sending'))
              THEN send_at ELSE throttled_until END
WHERE address = :chat AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.dedupe = :dedupe AND o.part = 1)
RETURNING last_number

-- name: take_numbers_of_many
UPDATE chats SET
    last_number = last_number + j.parts,
    send_at = CASE WHEN EXISTS (SELECT 1 FROM outbox o WHERE o.chat = chats.address AND o.settled_at IS NULL
                                  AND (o.aside_at IS NULL OR o.state = 'sending'))
              THEN send_at ELSE throttled_until END
FROM (SELECT value ->> 0 AS chat, value ->> 1 AS parts FROM json_each(:parts)) AS j
WHERE address = j.chat
RETURNING address, last_number

-- name: add_delivery
INSERT INTO outbox (chat, number, session, turn, kind, dedupe, part, parts, body, reply_to, options, files,
                    created_at)
VALUES (:chat, :number, :session, :turn, :kind, :dedupe, :part, :parts, :body, :reply_to, :options, :files,
        :now)

-- name: refresh_chat
-- The first part in line and the parts that stepped aside decide when the chat is due: a pending part at its
-- time, an unknown part never. While one of them is in flight, no other part is sent.
UPDATE chats SET send_at = (
    SELECT CASE WHEN NOT total(n.state = 'sending')
           THEN max(min(CASE WHEN n.state = 'pending' THEN n.not_before END), chats.throttled_until) END
    FROM (SELECT * FROM (SELECT o.state, o.not_before FROM outbox o
                         WHERE o.chat = chats.address AND o.settled_at IS NULL AND o.aside_at IS NULL
                         ORDER BY o.number LIMIT 1)
          UNION ALL
          SELECT a.state, a.not_before FROM outbox a
          WHERE a.chat = chats.address AND a.settled_at IS NULL AND a.aside_at IS NOT NULL) AS n)
WHERE address = :chat
RETURNING send_at
