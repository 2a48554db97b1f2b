-- name: add_event
INSERT INTO events (at, instance, what, subject, detail) VALUES (:at, :instance, :what, :subject, :detail)

-- name: add_instance
INSERT INTO instances (id, host, pid, boot, version, started_at, heartbeat_at)
VALUES (:id, :host, :pid, :boot, :version, :now, :now)

-- name: beat
UPDATE instances SET heartbeat_at = :now WHERE id = :id

-- name: end_instance
UPDATE instances SET stopped = :how, stopped_at = :now, heartbeat_at = :now WHERE id = :id AND stopped IS NULL

-- name: end_instance_before
UPDATE instances SET stopped = :how, stopped_at = :at WHERE id = :id AND stopped IS NULL

-- name: last_crashed
SELECT id FROM (SELECT id, pid, stopped FROM instances WHERE id <> :me ORDER BY id DESC LIMIT 1)
WHERE pid = :pid AND stopped IS NULL

-- name: instances
SELECT id, host, pid, boot, version, started_at, heartbeat_at, stopped, stopped_at, led_to_park
FROM instances ORDER BY id DESC LIMIT :limit

-- name: newest_id
SELECT max(coalesce((SELECT max(id) FROM instances), ''), coalesce((SELECT max(id) FROM sessions), ''),
           coalesce((SELECT max(id) FROM turns), ''))

-- name: known_event
SELECT position FROM inbox WHERE account = :account AND event_id = :event_id

-- name: ensure_chat
INSERT INTO chats (address, platform) VALUES (:address, :platform) ON CONFLICT (address) DO NOTHING

-- name: arrival
-- The state of the conversation in which a message arrives; no row for a new conversation. A question is open
-- to an answer only until it expires or its incarnation ends. A turn of a dead process counts as interrupted,
-- also before recovery has recorded that; when it is resumed, it takes the oldest message with it.
SELECT h.busy, t.id, CASE WHEN t.state = 'running' AND t.owner <> :me THEN 'interrupted' ELSE t.state END,
       (SELECT count(*) FROM (SELECT 1 FROM inbox i
                              WHERE i.key = :key AND i.state = 'waiting' AND i.kind <> 'command' LIMIT :most)),
       EXISTS (SELECT 1 FROM questions q WHERE q.session = s.id AND q.state = 'open'),
       s.id, EXISTS (SELECT 1 FROM goals g WHERE g.session = s.id AND g.state = 'active'),
       c.fault IS NOT NULL,
       t.state = 'running' AND t.owner <> :me OR t.state IN ('queued', 'interrupted') AND t.interruptions > t.noted,
       c.held_at IS NOT NULL
FROM conversations c JOIN chats h ON h.address = c.chat
LEFT JOIN sessions s ON s.key = c.key AND s.ended_at IS NULL
LEFT JOIN turns t ON t.id = s.last_turn AND t.ended_at IS NULL
WHERE c.key = :key

-- name: commands_pending
SELECT body FROM inbox WHERE state = 'waiting' AND kind = 'command' AND key = :key ORDER BY position

-- name: offered_since
SELECT 1 FROM inbox
WHERE key = :key AND state = 'offered' AND reason = :reason AND accepted_at > :since LIMIT 1

-- name: add_conversation
INSERT INTO conversations (key, chat) VALUES (:key, :chat)

-- name: add_row
-- Adds nothing if the ledger knows the event (as a row, set aside or refused) or does not know the
-- conversation yet.
INSERT INTO inbox (account, event_id, key, chat, sender, kind, body, message_id, sent_at, accepted_at, incarnation)
SELECT :account, :event_id, key, :chat, :sender, :kind, :body, :message_id, :sent_at, :now, :incarnation
FROM conversations WHERE key = :key
  AND NOT EXISTS (SELECT 1 FROM set_aside a WHERE a.account = :account AND a.event_id = :event_id)
  AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject = :subject AND e.what = 'refused')
ON CONFLICT (account, event_id) DO NOTHING
RETURNING position

-- name: refresh_conversation
-- A conversation is ready if its open turn is queued, or if it has no open turn and a row waits without an
-- older command before it (a command is about the messages before it). It is never ready while an owner has
-- to release it. The value is always derived. A conversation that stays ready keeps its time, so that the
-- line is fair.
UPDATE conversations SET
    (ready_at, resume) = (
        SELECT CASE
                   WHEN conversations.held_at IS NULL AND (t.state = 'queued' OR (t.state IS NULL AND EXISTS (
                       SELECT 1 FROM inbox i
                       WHERE i.key = conversations.key AND i.state = 'waiting' AND i.kind <> 'command'
                         AND NOT EXISTS (SELECT 1 FROM inbox o WHERE o.state = 'waiting' AND o.kind = 'command'
                                         AND o.position < i.position AND o.key = i.key))))
                   THEN coalesce(conversations.ready_at, :now) END,
               coalesce(t.state = 'queued' AND t.interruptions > t.noted, 0)
        FROM (SELECT 1)
        LEFT JOIN sessions s ON s.key = conversations.key AND s.ended_at IS NULL
        LEFT JOIN turns t ON t.id = s.last_turn AND t.ended_at IS NULL)
WHERE key = :key
RETURNING ready_at

-- name: key_of_session
SELECT key FROM sessions WHERE id = :session

-- name: incarnation_now
SELECT incarnation FROM sessions WHERE key = :key AND ended_at IS NULL AND suspended_at IS NULL

-- name: drop_on_arrival
UPDATE inbox SET state = 'dropped', reason = 'conversation ended', settled_at = :now WHERE position = :position

-- name: drop_wakeups_of_ended
-- Wake-ups of the ended session; a person's message has no incarnation and waits for the next session.
UPDATE inbox SET state = 'dropped', reason = 'conversation ended', settled_at = :now
WHERE key IN (SELECT key FROM sessions WHERE id IN (SELECT value FROM json_each(:sessions)))
  AND state = 'waiting' AND kind <> 'command' AND incarnation IS NOT NULL

-- name: add_set_aside
INSERT INTO set_aside (account, event_id, reason, payload, at)
SELECT :account, :event_id, :reason, :payload, :now
WHERE NOT EXISTS (SELECT 1 FROM inbox i WHERE i.account = :account AND i.event_id = :event_id)
  AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject = :subject AND e.what = 'refused')
ON CONFLICT (account, event_id) WHERE event_id IS NOT NULL DO NOTHING

-- name: event_settled
-- Whether the ledger knows an event already: as a row, set aside or refused.
SELECT 1 FROM inbox WHERE account = :account AND event_id = :event_id
UNION ALL SELECT 1 FROM set_aside WHERE account = :account AND event_id = :event_id
UNION ALL SELECT 1 FROM events WHERE subject = :subject AND what = 'refused'
LIMIT 1

-- name: move_cursor
INSERT INTO cursors (account, name, value, moved_at) VALUES (:account, :name, :value, :now)
ON CONFLICT (account, name) DO UPDATE SET value = excluded.value, moved_at = excluded.moved_at

-- name: cursor
SELECT value FROM cursors WHERE account = :account AND name = :name

-- name: rewrite_row
UPDATE inbox SET body = :body
WHERE chat = :chat AND message_id = :message_id AND state IN ('waiting', 'offered') AND kind = 'message'
  AND reason IS NOT 'made from a command'
RETURNING position, key

-- name: row_to_rewrite
SELECT position FROM inbox
WHERE chat = :chat AND message_id = :message_id AND state IN ('waiting', 'offered') AND kind = 'message'
  AND reason IS NOT 'made from a command'

-- name: withdraw_row
UPDATE inbox SET state = CASE WHEN state = 'offered' THEN 'dropped' ELSE 'withdrawn' END,
       reason = 'withdrawn by its sender', settled_at = :now
WHERE chat = :chat AND message_id = :message_id AND state IN ('waiting', 'offered') AND kind = 'message'
RETURNING position, key

-- name: commands
SELECT position, account, event_id, key, chat, sender, kind, body, message_id, sent_at, accepted_at, state,
       turn, question, reason
FROM inbox WHERE state = 'waiting' AND kind = 'command' ORDER BY position LIMIT :limit

-- name: row
SELECT position, account, event_id, key, chat, sender, kind, body, message_id, sent_at, accepted_at, state,
       turn, question, reason
FROM inbox WHERE position = :position

-- name: rows_waiting
SELECT position, account, event_id, key, chat, sender, kind, body, message_id, sent_at, accepted_at, state,
       turn, question, reason
FROM inbox WHERE key = :key AND state = 'waiting' AND kind <> 'command' ORDER BY position LIMIT :limit

-- name: oldest_command
SELECT min(position) FROM inbox WHERE state = 'waiting' AND kind = 'command' AND key = :key

-- name: settle_row
UPDATE inbox SET state = :state, reason = :reason, settled_at = CASE WHEN :state = 'offered' THEN NULL ELSE :now END
WHERE position = :position AND (state = 'waiting' OR (state = 'offered' AND :state = 'dropped'))
RETURNING key

-- name: state_of_row
SELECT state FROM inbox WHERE position = :position

-- name: take_up_row
UPDATE inbox SET state = 'waiting', reason = NULL
WHERE position = :position AND state = 'offered' AND (incarnation IS NULL OR incarnation = (
    SELECT s.incarnation FROM sessions s WHERE s.key = inbox.key AND s.ended_at IS NULL AND s.suspended_at IS NULL))
RETURNING key

-- name: withdraw_waiting
-- Only messages: wake-ups have an incarnation and are dropped with their session.
UPDATE inbox SET state = 'withdrawn', reason = :reason, settled_at = :now
WHERE key = :key AND state = 'waiting' AND kind <> 'command' AND incarnation IS NULL AND position < :before
RETURNING position, body

-- name: count_kept
SELECT count(*) FROM inbox
WHERE key = :key AND state = 'waiting' AND kind = 'message' AND position < :before

-- name: configure_chat
UPDATE chats SET busy = coalesce(:busy, busy), on_interruption = coalesce(:on_interruption, on_interruption),
       agent = coalesce(:agent, agent), model = coalesce(:model, model)
WHERE address = :address

-- name: chat_settings
SELECT busy, on_interruption, agent, model FROM chats WHERE address = :address

-- name: add_request
INSERT INTO requests (what, dedupe, asked_by, after_turn, asked_at, instance)
VALUES (:what, :dedupe, :by, :after_turn, :now, :instance) ON CONFLICT (dedupe) DO NOTHING

-- name: requests
SELECT id, what, dedupe, asked_by, after_turn, asked_at, done_at, outcome, instance
FROM requests WHERE done_at IS NULL ORDER BY id

-- name: settle_request
UPDATE requests SET done_at = :now, outcome = :outcome WHERE id = :id AND done_at IS NULL
