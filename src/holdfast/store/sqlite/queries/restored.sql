-- Work that was open in a backup is held for the operator. Each row follows the arrows of its state table:
-- where there is no direct arrow (waiting to interrupted, pending to unknown), it passes the state between in
-- the same commit.

-- name: hold_waiting_turns
UPDATE turns INDEXED BY one_open_turn SET state = 'queued' WHERE ended_at IS NULL AND state = 'waiting'

-- name: hold_strikes
-- A restore is no crash: each running turn gives its strike back.
UPDATE sessions SET strikes = max(0, strikes - 1)
WHERE id IN (SELECT session FROM turns INDEXED BY one_open_turn WHERE ended_at IS NULL AND state = 'running')

-- name: hold_turns
-- The restore is an interruption of its own: a consent to an earlier one does not count for it.
UPDATE turns SET state = 'interrupted', owner = NULL, last_owner = NULL, suspect = 0, interruption = :reason,
       interrupted_at = :now, interruptions = max(0, min(interruptions, 1000000)) + 1,
       held = :reason, held_since = :now
WHERE ended_at IS NULL
RETURNING id

-- name: hold_questions
-- The gateway's own questions are about an interruption that is no longer the last one.
UPDATE questions SET state = 'cancelled', closed_at = :now WHERE state = 'open' AND kind = 'continue'

-- name: hold_pending
UPDATE outbox SET state = 'sending', owner = :owner WHERE settled_at IS NULL AND state = 'pending'

-- name: hold_deliveries
UPDATE outbox SET state = 'unknown', owner = NULL, reason = :reason WHERE settled_at IS NULL
RETURNING id

-- name: hold_messages
UPDATE inbox SET state = 'offered', reason = :reason WHERE state = 'waiting'
RETURNING position

-- name: hold_conversations
UPDATE conversations SET ready_at = NULL, resume = 0 WHERE ready_at IS NOT NULL

-- name: hold_chats
UPDATE chats SET send_at = NULL WHERE send_at IS NOT NULL

-- name: hold_requests
UPDATE requests SET done_at = :now, outcome = :reason WHERE done_at IS NULL

-- name: hold_processes
-- These processes belong to the time before the backup; their end wakes no session.
UPDATE processes SET state = 'lost', ended_at = :now, consumed = 1 WHERE state = 'running'

-- name: hold_instance
-- Nothing says that the run in which the backup was made has crashed.
UPDATE instances SET stopped = :reason, stopped_at = heartbeat_at
WHERE id = (SELECT max(id) FROM instances WHERE id <> :instance) AND stopped IS NULL

-- name: restored
SELECT 'turn', t.id, s.chat, t.interrupted_at, t.session,
       (SELECT substr(e.body ->> 'text', 1, 200) FROM entries e
        WHERE e.session = t.session AND e.turn = t.id AND e.kind = 'said' AND json_valid(e.body) LIMIT 1)
FROM turns t JOIN sessions s ON s.id = t.session
WHERE t.state = 'interrupted' AND t.interruption = :reason AND t.consented <> t.interruptions
UNION ALL
SELECT 'part', CAST(o.id AS TEXT), o.chat, o.created_at, o.session, substr(o.body, 1, 200)
FROM outbox o WHERE o.state = 'unknown' AND o.reason = :reason
UNION ALL
SELECT 'message', CAST(i.position AS TEXT), i.chat, i.accepted_at, NULL,
       CASE WHEN json_valid(i.body) THEN substr(i.body ->> 'text', 1, 200) END
FROM inbox i WHERE i.state = 'offered' AND i.reason = :reason
