-- name: take_chats_due
-- Nothing more goes to these chats until what is taken for them has been recorded. A time beyond `latest` is
-- damage: such a chat is due, and its throttle is forgotten.
UPDATE chats SET send_at = NULL,
       throttled_until = CASE WHEN throttled_until > :latest THEN 0 ELSE throttled_until END
WHERE address IN (SELECT address FROM (
    SELECT address, send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL AND send_at <= :now
    UNION ALL
    SELECT address, send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL AND send_at > :latest
    ORDER BY send_at LIMIT :limit))
RETURNING address

-- name: next_send
-- The earliest time in line, or one beyond `latest` if there is such damage.
SELECT send_at FROM (
    SELECT * FROM (SELECT send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL AND send_at > :latest
                   LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL
                   ORDER BY send_at LIMIT 1))
LIMIT 1

-- name: take_delivery
-- What was tried before and is not `repeated` certainly did not arrive: the platform knows nothing of it.
UPDATE outbox SET state = 'sending', owner = :owner, claimed_at = :now,
       tried = CASE WHEN repeated THEN tried ELSE :tried END
WHERE id = (SELECT id FROM outbox WHERE chat = :chat AND settled_at IS NULL ORDER BY number LIMIT 1)
  AND state = 'pending'
RETURNING id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
          created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried

-- A part in `sending` has an owner, one of unknown outcome has none: the owner tells which is meant.
-- name: delivery_sent
UPDATE outbox SET state = 'sent', owner = NULL, settled_at = :now, platform_id = :platform_id, reason = NULL,
       attempts = attempts + :counts
WHERE id = :id AND state IN ('sending', 'unknown') AND owner IS :owner
RETURNING chat, EXISTS (SELECT 1 FROM outbox o WHERE o.chat = outbox.chat AND o.settled_at IS NULL)

-- name: delivery_pending
UPDATE outbox SET state = 'pending', owner = NULL, not_before = :at, reason = :reason,
       attempts = attempts + :counts, repeated = max(repeated, :repeated)
WHERE id = :id AND state IN ('sending', 'unknown') AND owner IS :owner
RETURNING chat, EXISTS (SELECT 1 FROM outbox o WHERE o.chat = outbox.chat AND o.settled_at IS NULL)

-- name: delivery_unknown
UPDATE outbox SET state = 'unknown', owner = NULL, reason = :reason, attempts = attempts + 1
WHERE id = :id AND state = 'sending' AND owner IS :owner
RETURNING chat, EXISTS (SELECT 1 FROM outbox o WHERE o.chat = outbox.chat AND o.settled_at IS NULL)

-- name: delivery_failed
UPDATE outbox SET state = 'failed', owner = NULL, settled_at = :now, reason = :reason,
       attempts = attempts + :counts
WHERE id = :id AND state IN ('sending', 'unknown') AND owner IS :owner
RETURNING chat, EXISTS (SELECT 1 FROM outbox o WHERE o.chat = outbox.chat AND o.settled_at IS NULL)

-- name: fail_chat
UPDATE outbox SET state = 'failed', owner = NULL, settled_at = :now, reason = :reason
WHERE chat = :chat AND settled_at IS NULL AND state IN ('pending', 'unknown')
RETURNING id

-- name: delivery_expired
UPDATE outbox SET state = 'expired', owner = NULL, settled_at = :now, reason = :reason
WHERE id = :id AND state IN ('pending', 'unknown')
RETURNING chat

-- name: state_of_delivery
SELECT state FROM outbox WHERE id = :id

-- name: throttle_chat
UPDATE chats SET throttled_until = max(throttled_until, :at) WHERE address = :chat

-- name: in_doubt
-- What a restore left in doubt no platform is asked about and nothing is sent again for: the operator settles it.
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried
FROM outbox WHERE state = 'unknown'
  AND (:platform IS NULL OR (reason IS NOT 'restored'
                             AND :platform = (SELECT platform FROM chats WHERE address = outbox.chat)))
ORDER BY id LIMIT :limit

-- name: unsettled_parts
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried
FROM outbox INDEXED BY outbox_unsettled WHERE settled_at IS NULL AND id > :after ORDER BY id LIMIT :limit

-- name: unknown_parts
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried
FROM outbox WHERE state = 'unknown' AND id > :after ORDER BY id LIMIT :limit

-- name: doubt_orphans
UPDATE outbox INDEXED BY outbox_unsettled SET state = 'unknown', owner = NULL, reason = 'the process died while sending',
       attempts = attempts + 1
WHERE settled_at IS NULL AND state = 'sending' AND owner <> :owner
RETURNING id

-- name: deliveries
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried
FROM outbox WHERE chat = :chat AND number > :after ORDER BY number LIMIT :limit

-- name: last_number
SELECT last_number FROM chats WHERE address = :chat
