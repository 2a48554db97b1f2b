-- name: take_chats_due
-- These chats get no other part until the outcome of the taken one is recorded. A time beyond `latest` is
-- damage: such a chat is due, and its throttle is removed.
UPDATE chats SET send_at = NULL,
       throttled_until = CASE WHEN throttled_until > :latest THEN 0 ELSE throttled_until END
WHERE address IN (SELECT address FROM (
    SELECT address, send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL AND send_at <= :now
    UNION ALL
    SELECT address, send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL AND send_at > :latest
    ORDER BY send_at LIMIT :limit))
RETURNING address

-- name: next_send
-- The earliest due time, or a time beyond `latest` if there is such damage.
SELECT send_at FROM (
    SELECT * FROM (SELECT send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL AND send_at > :latest
                   LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT send_at FROM chats WHERE platform = :platform AND send_at IS NOT NULL
                   ORDER BY send_at LIMIT 1))
LIMIT 1

-- name: take_delivery
-- The first part in line if it is due, else a part that stepped aside.
-- A part that was tried and is not `repeated` certainly did not arrive: the platform does not know it.
UPDATE outbox SET state = 'sending', owner = :owner, claimed_at = :now,
       tried = CASE WHEN repeated THEN tried ELSE :tried END
WHERE id = (SELECT id FROM (
    SELECT * FROM (SELECT id, state, not_before, 0 AS is_aside FROM outbox
                   WHERE chat = :chat AND settled_at IS NULL AND aside_at IS NULL ORDER BY number LIMIT 1)
    UNION ALL
    SELECT id, state, not_before, 1 FROM outbox WHERE chat = :chat AND settled_at IS NULL AND aside_at IS NOT NULL)
    WHERE state = 'pending' AND (not_before <= :now OR not_before > :latest)
    ORDER BY is_aside, not_before, id LIMIT 1)
RETURNING id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
          created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried,
       repeats, failing_since, overtaken_at, aside_at

-- A part in `sending` has an owner, a part of unknown outcome has none: `:owner` selects one of the two.
-- name: delivery_sent
UPDATE outbox SET state = 'sent', owner = NULL, settled_at = :now, platform_id = :platform_id, reason = NULL,
       attempts = attempts + :counts
WHERE id = :id AND state IN ('sending', 'unknown') AND owner IS :owner
RETURNING chat, EXISTS (SELECT 1 FROM outbox o WHERE o.chat = outbox.chat AND o.settled_at IS NULL)

-- name: delivery_pending
UPDATE outbox SET state = 'pending', owner = NULL, not_before = :at, reason = :reason,
       attempts = attempts + :counts, repeated = max(repeated, :repeated), repeats = repeats + :marked,
       failing_since = CASE WHEN :counts THEN coalesce(failing_since, :now) ELSE failing_since END
WHERE id = :id AND state IN ('sending', 'unknown') AND owner IS :owner
RETURNING chat, EXISTS (SELECT 1 FROM outbox o WHERE o.chat = outbox.chat AND o.settled_at IS NULL)

-- name: delivery_unknown
UPDATE outbox SET state = 'unknown', owner = NULL, reason = :reason, attempts = attempts + 1,
       failing_since = CASE WHEN :ours THEN failing_since ELSE coalesce(failing_since, :now) END
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
-- What a restore left in doubt no platform is asked about and nothing is sent again for: the operator settles
-- it.
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried,
       repeats, failing_since, overtaken_at, aside_at
FROM outbox WHERE state = 'unknown'
  AND (:platform IS NULL OR (reason IS NOT 'restored'
                             AND :platform = (SELECT platform FROM chats WHERE address = outbox.chat)))
ORDER BY id LIMIT :limit

-- name: unsettled_parts
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried,
       repeats, failing_since, overtaken_at, aside_at
FROM outbox INDEXED BY outbox_unsettled WHERE settled_at IS NULL AND id > :after ORDER BY id LIMIT :limit

-- name: unknown_parts
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried,
       repeats, failing_since, overtaken_at, aside_at
FROM outbox WHERE state = 'unknown' AND id > :after ORDER BY id LIMIT :limit

-- name: failing_parts
-- Each with the time of the newest message that waits behind it in the same chat; parts of its own message do
-- not count.
SELECT o.id, o.chat, o.number, o.kind, o.part, o.parts, o.body, o.options, o.files, o.reply_to, o.dedupe, o.state, o.attempts,
       o.repeated, o.created_at, o.claimed_at, o.settled_at, o.platform_id, o.reason, o.session, o.turn, o.tried,
       o.repeats, o.failing_since, o.overtaken_at, o.aside_at,
       (SELECT max(l.created_at) FROM outbox l
        WHERE l.chat = o.chat AND l.settled_at IS NULL AND l.number > o.number AND l.dedupe <> o.dedupe
          AND l.aside_at IS NULL AND o.aside_at IS NULL)
FROM outbox o INDEXED BY outbox_failing JOIN chats c ON c.address = o.chat
WHERE o.failing_since IS NOT NULL AND o.settled_at IS NULL AND o.reason IS NOT 'restored' AND c.platform = :platform
ORDER BY o.id LIMIT :limit

-- name: hurry_delivery
UPDATE outbox SET overtaken_at = coalesce(overtaken_at, :overtaken_at),
       not_before = CASE WHEN :at_once THEN min(not_before, :now) ELSE not_before END
WHERE id = :id AND failing_since IS NOT NULL AND settled_at IS NULL
RETURNING chat

-- name: step_aside
UPDATE outbox SET aside_at = :now
WHERE id = :id AND failing_since IS NOT NULL AND aside_at IS NULL AND (state = 'pending' OR state = 'unknown')
RETURNING chat

-- name: doubt_orphans
UPDATE outbox INDEXED BY outbox_unsettled SET state = 'unknown', owner = NULL, reason = 'the process died while sending',
       attempts = attempts + 1
WHERE settled_at IS NULL AND state = 'sending' AND owner <> :owner AND (:only IS NULL OR id = :only)
RETURNING id

-- name: orphan_parts
SELECT id FROM outbox INDEXED BY outbox_unsettled WHERE settled_at IS NULL AND state = 'sending' AND owner <> :owner

-- name: deliveries
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried,
       repeats, failing_since, overtaken_at, aside_at
FROM outbox WHERE chat = :chat AND number > :after ORDER BY number LIMIT :limit

-- name: last_number
SELECT last_number FROM chats WHERE address = :chat
