-- Values of a type the schema does not allow. While one stands in a row, the row cannot be changed at all.

-- name: damaged_work
-- Open turns, their sessions and their chats.
SELECT 'turns', t.id FROM turns t INDEXED BY one_open_turn WHERE t.ended_at IS NULL AND (
   typeof(t.owner) NOT IN ('text', 'null') OR typeof(t.last_owner) NOT IN ('text', 'null')
   OR typeof(t.attempt) NOT IN ('integer', 'null') OR typeof(t.suspect) NOT IN ('integer', 'null')
   OR typeof(t.productive) NOT IN ('integer', 'null') OR typeof(t.begun_at) NOT IN ('integer', 'null')
   OR typeof(t.claimed_at) NOT IN ('integer', 'null')
   OR typeof(t.progress_at) NOT IN ('integer', 'null')
   OR typeof(t.progress_mark) NOT IN ('text', 'null') OR typeof(t.tail) NOT IN ('text', 'null')
   OR typeof(t.noted) NOT IN ('integer', 'null') OR typeof(t.interruptions) NOT IN ('integer', 'null')
   OR typeof(t.interrupted_at) NOT IN ('integer', 'null')
   OR typeof(t.interruption) NOT IN ('text', 'null') OR typeof(t.held) NOT IN ('text', 'null')
   OR typeof(t.held_since) NOT IN ('integer', 'null')
   OR typeof(t.quarantined) NOT IN ('integer', 'null')
   OR typeof(t.consented) NOT IN ('integer', 'null') OR typeof(t.stop) NOT IN ('text', 'null')
   OR typeof(t.stop_at) NOT IN ('integer', 'null') OR typeof(t.why) NOT IN ('text', 'null')
   OR typeof(t.deaths) NOT IN ('integer', 'null'))
UNION ALL
SELECT 'sessions', s.id FROM turns t INDEXED BY one_open_turn CROSS JOIN sessions s ON s.id = t.session
WHERE t.ended_at IS NULL AND (
   typeof(s.began) NOT IN ('text', 'null') OR typeof(s.began_at) NOT IN ('integer', 'null')
   OR typeof(s.strikes) NOT IN ('integer', 'null')
   OR typeof(s.longest_fatal) NOT IN ('integer', 'null')
   OR typeof(s.completed_at) NOT IN ('integer', 'null')
   OR typeof(s.suspended_at) NOT IN ('integer', 'null')
   OR typeof(s.suspended_why) NOT IN ('text', 'null')
   OR typeof(s.deaths) NOT IN ('integer', 'null') OR typeof(s.cuts) NOT IN ('integer', 'null')
   OR typeof(s.follows_park) NOT IN ('integer', 'null'))
UNION ALL
SELECT 'chats', h.address FROM turns t INDEXED BY one_open_turn CROSS JOIN sessions s ON s.id = t.session
CROSS JOIN chats h ON h.address = s.chat
WHERE t.ended_at IS NULL AND (
   typeof(h.busy) NOT IN ('text', 'null') OR typeof(h.on_interruption) NOT IN ('text', 'null')
   OR typeof(h.agent) NOT IN ('text', 'null') OR typeof(h.model) NOT IN ('text', 'null'))

-- name: unplaced_work
-- Open turns in a state that no rule can place: nobody claims them, recovery does not see them, and their
-- conversations wait for their end.
SELECT s.key, t.state FROM turns t INDEXED BY one_open_turn JOIN sessions s ON s.id = t.session
WHERE t.ended_at IS NULL AND t.state NOT IN (SELECT value FROM json_each(:open))

-- name: rows_of_conversation
SELECT c.chat, s.id, s.last_turn FROM conversations c
LEFT JOIN sessions s ON s.key = c.key AND s.ended_at IS NULL WHERE c.key = :key

-- name: fields_of_turns
SELECT owner, last_owner, attempt, suspect, productive, begun_at, claimed_at, progress_at, progress_mark, tail,
       noted, interruptions, interrupted_at, interruption, held, held_since, quarantined, consented, stop, stop_at,
       why, deaths
FROM turns WHERE id = :id

-- name: fields_of_sessions
SELECT began, began_at, strikes, longest_fatal, completed_at, suspended_at, suspended_why, deaths, cuts, follows_park
FROM sessions WHERE id = :id

-- name: fields_of_chats
SELECT busy, on_interruption, agent, model FROM chats WHERE address = :id

-- name: mend_turns
-- A running turn has an owner, if only one that nobody knows. A turn that has not ended has no time of its end.
UPDATE turns SET owner = CASE WHEN state = 'running' THEN coalesce(:owner, '') END, last_owner = :last_owner,
       attempt = :attempt, suspect = :suspect, productive = :productive, begun_at = :begun_at,
       claimed_at = :claimed_at, progress_at = :progress_at, progress_mark = :progress_mark, tail = :tail,
       noted = :noted, interruptions = :interruptions, interrupted_at = :interrupted_at,
       interruption = :interruption, held = :held, held_since = :held_since, quarantined = :quarantined,
       consented = :consented, stop = :stop, stop_at = :stop_at, why = :why, deaths = :deaths,
       ended_at = CASE WHEN state IN ('queued', 'running', 'waiting', 'interrupted') THEN NULL ELSE ended_at END
WHERE id = :id

-- name: mend_sessions
UPDATE sessions SET began = :began, began_at = :began_at, strikes = :strikes, longest_fatal = :longest_fatal,
       completed_at = :completed_at, suspended_at = :suspended_at, suspended_why = :suspended_why,
       deaths = :deaths, cuts = :cuts, follows_park = :follows_park WHERE id = :id

-- name: mend_chats
UPDATE chats SET busy = :busy, on_interruption = :on_interruption, agent = :agent, model = :model WHERE address = :id

-- name: lay_aside
UPDATE conversations SET fault = :fault, ready_at = NULL, resume = 0 WHERE key = :key AND fault IS NOT :fault
RETURNING chat

-- name: heal_conversation
UPDATE conversations SET fault = NULL WHERE key = :key

-- name: laid_aside
SELECT key FROM conversations WHERE fault IS NOT NULL

-- name: keep_aside
-- What is wrong with a part of the ledger, once; if it goes wrong in another way, that instead.
INSERT INTO set_aside (account, event_id, reason, payload, at) VALUES (:account, :part, :reason, :payload, :now)
ON CONFLICT (account, event_id) WHERE event_id IS NOT NULL
DO UPDATE SET reason = excluded.reason, payload = excluded.payload, at = excluded.at
WHERE reason <> excluded.reason

-- name: take_from_aside
DELETE FROM set_aside WHERE account = :account AND event_id = :part
