-- name: running_turns
SELECT t.id, t.session, s.key, s.chat, c.on_interruption, t.begun_at, t.claimed_at, t.progress_at
FROM turns t INDEXED BY one_open_turn JOIN sessions s ON s.id = t.session JOIN chats c ON c.address = s.chat
WHERE t.ended_at IS NULL AND t.state = 'running' AND (:owner IS NULL OR t.owner = :owner)
ORDER BY t.id

-- name: count_chats_due
SELECT count(*) FROM chats WHERE platform = :platform AND send_at IS NOT NULL AND send_at <= :until

-- name: count_sending
SELECT count(*) FROM outbox INDEXED BY outbox_unsettled WHERE settled_at IS NULL AND owner = :owner

-- name: reply_settled
SELECT t.ended_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM outbox o INDEXED BY outbox_unsettled
    WHERE o.chat = s.chat AND o.settled_at IS NULL AND o.turn = t.id)
FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = :turn
