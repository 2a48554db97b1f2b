-- The reads behind the operator pages. The open work, a limit or a window bounds each of them, so that none
-- grows with the ledger.

-- name: count_open_turns
SELECT state, held IS NOT NULL, count(*) FROM turns INDEXED BY one_open_turn WHERE ended_at IS NULL GROUP BY 1, 2

-- name: count_parked
-- Sessions that ended because the next message of their chat began a new one still count; a person ended the
-- others.
SELECT count(*) FROM sessions INDEXED BY sessions_parked
WHERE suspended_at IS NOT NULL AND (ended_at IS NULL OR ended_why = 'suspended')

-- name: count_on_hold
SELECT count(*) FROM conversations INDEXED BY conversations_held WHERE held_at IS NOT NULL

-- name: count_set_aside
SELECT count(*) FROM (SELECT 1 FROM set_aside WHERE id > 0 LIMIT :most)

-- name: is_on_hold
SELECT 1 FROM conversations WHERE key = :key AND held_at IS NOT NULL

-- name: turns_by_minute
-- Ids are in the order of time, so the last hour is one range of them; of a very busy hour only the end is
-- counted.
SELECT begun_at / 60000, state, count(*)
FROM (SELECT begun_at, state FROM turns WHERE id >= :first ORDER BY id DESC LIMIT :most) AS r
WHERE begun_at >= :since GROUP BY 1, 2

-- name: reports_in_short
-- A report may list a thousand turns: only the newest report keeps its list.
SELECT r.id, e.at, CASE WHEN r.id = :newest OR NOT json_valid(e.detail) THEN e.detail
                        ELSE json_patch(e.detail, '{"fates": null}') END
FROM (SELECT id FROM instances ORDER BY id DESC LIMIT :limit) AS r
CROSS JOIN events e ON e.subject = 'instance:' || r.id AND e.what = 'continuity'
ORDER BY r.id DESC

-- name: sessions_with_open_turn
SELECT s.id, s.key, s.began, s.began_at, s.ended_at, s.suspended_at IS NOT NULL, s.strikes,
       t.id, t.state, t.held, s.completed_at,
       EXISTS (SELECT 1 FROM conversations c WHERE c.key = s.key AND c.held_at IS NOT NULL AND s.ended_at IS NULL)
FROM turns t INDEXED BY one_open_turn CROSS JOIN sessions s ON s.id = t.session
WHERE t.ended_at IS NULL AND t.session < :before
  AND (t.state = :state OR (:state = 'held' AND t.held IS NOT NULL))
  AND (:platform IS NULL OR substr(s.key, 1, length(:platform) + 1) = :platform || '/')
  AND (:text IS NULL OR instr(lower(s.key), :text) > 0 OR s.id = :text)
ORDER BY t.session DESC LIMIT :limit

-- name: sessions_parked
SELECT s.id, s.key, s.began, s.began_at, s.ended_at, s.suspended_at IS NOT NULL, s.strikes,
       t.id, t.state, t.held, s.completed_at,
       EXISTS (SELECT 1 FROM conversations c WHERE c.key = s.key AND c.held_at IS NOT NULL AND s.ended_at IS NULL)
FROM sessions s INDEXED BY sessions_parked LEFT JOIN turns t ON t.id = s.last_turn
WHERE s.suspended_at IS NOT NULL AND (s.ended_at IS NULL OR s.ended_why = 'suspended') AND s.id < :before
  AND (:platform IS NULL OR substr(s.key, 1, length(:platform) + 1) = :platform || '/')
  AND (:text IS NULL OR instr(lower(s.key), :text) > 0 OR s.id = :text)
ORDER BY s.id DESC LIMIT :limit

-- name: sessions_in_window
SELECT r.id, r.key, r.began, r.began_at, r.ended_at, r.suspended_at IS NOT NULL, r.strikes,
       t.id, t.state, t.held, r.completed_at,
       EXISTS (SELECT 1 FROM conversations c WHERE c.key = r.key AND c.held_at IS NOT NULL AND r.ended_at IS NULL)
FROM (SELECT id, key, began, began_at, ended_at, suspended_at, strikes, completed_at, last_turn
      FROM sessions WHERE id < :before ORDER BY id DESC LIMIT :window) AS r
LEFT JOIN turns t ON t.id = r.last_turn
WHERE (NOT :live_only OR r.ended_at IS NULL)
  AND (:platform IS NULL OR substr(r.key, 1, length(:platform) + 1) = :platform || '/')
  AND (:text IS NULL OR instr(lower(r.key), :text) > 0 OR r.id = :text)
  AND (:state IS NULL OR t.state = :state)
ORDER BY r.id DESC LIMIT :limit

-- name: end_of_window
SELECT id FROM sessions WHERE id < :before ORDER BY id DESC LIMIT 1 OFFSET :window - 1

-- name: one_chat_of_each
-- The first chat of each platform: after each address, the search goes on behind all addresses of the same
-- platform.
WITH RECURSIVE back (address) AS (
    SELECT min(address) FROM chats WHERE address > ''
    UNION ALL
    SELECT (SELECT min(c.address) FROM chats c
            WHERE c.address >= substr(back.address, 1, instr(back.address, '/') - 1) || '0')
    FROM back WHERE back.address IS NOT NULL)
SELECT address FROM back WHERE address IS NOT NULL

-- name: calls_in_turn
SELECT turn, id, name, effect, state, runs, planned_at, started_at, settled_at
FROM tool_calls WHERE turn = :turn ORDER BY place DESC

-- name: deliveries_of_session
SELECT id, chat, number, kind, part, parts, body, options, files, reply_to, dedupe, state, attempts, repeated,
       created_at, claimed_at, settled_at, platform_id, reason, session, turn, tried,
       repeats, failing_since, overtaken_at, aside_at
FROM (SELECT * FROM outbox WHERE chat = :chat ORDER BY number DESC LIMIT :window) AS r
WHERE session = :session ORDER BY number DESC LIMIT :limit

-- name: session_of_turn
SELECT t.session, s.key, t.state FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = :turn

-- name: set_aside_page
SELECT id, account, event_id, reason, payload, at FROM set_aside
WHERE id < :before AND (:account IS NULL OR account = :account) ORDER BY id DESC LIMIT :limit
