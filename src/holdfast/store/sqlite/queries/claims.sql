-- name: lane_taken
-- Whether a suspect runs or is in line.
SELECT EXISTS (SELECT 1 FROM turns WHERE suspect = 1 AND state = 'running')
    OR EXISTS (SELECT 1 FROM sessions s JOIN turns t ON t.id = s.last_turn
               JOIN conversations c ON c.key = s.key AND c.ready_at IS NOT NULL
               WHERE s.strikes > 1 AND s.ended_at IS NULL AND s.suspended_at IS NULL
                 AND s.strikes >= :suspect_strikes AND t.state = 'queued')

-- name: take_ready_conversation
-- The conversation that has been ready longest leaves the line; a suspect only while no other suspect runs.
-- The same holds for a conversation whose next session is a suspect: its last session was parked or followed
-- a park, also if `/new` has ended it since.
UPDATE conversations SET ready_at = NULL, resume = 0 WHERE key = (
SELECT r.key
FROM (SELECT * FROM (SELECT c.key, c.ready_at FROM conversations c
                     WHERE c.resume = 0 AND c.ready_at IS NOT NULL AND NOT (
                         EXISTS (SELECT 1 FROM turns WHERE suspect = 1 AND state = 'running')
                         AND coalesce((SELECT s.suspended_at IS NOT NULL OR CASE WHEN s.ended_at IS NULL
                                              THEN s.strikes >= :suspect_strikes ELSE s.follows_park = 1 END
                                       FROM sessions s WHERE s.key = c.key
                                       ORDER BY s.ended_at IS NULL DESC, s.incarnation DESC LIMIT 1), 0))
                     ORDER BY c.ready_at, c.key LIMIT 1)
      UNION ALL
      SELECT * FROM (SELECT c.key, c.ready_at FROM conversations c
                     WHERE :resumes AND c.resume = 1 AND c.ready_at IS NOT NULL AND NOT (
                         EXISTS (SELECT 1 FROM turns WHERE suspect = 1 AND state = 'running')
                         AND coalesce((SELECT s.suspended_at IS NOT NULL OR CASE WHEN s.ended_at IS NULL
                                              THEN s.strikes >= :suspect_strikes ELSE s.follows_park = 1 END
                                       FROM sessions s WHERE s.key = c.key
                                       ORDER BY s.ended_at IS NULL DESC, s.incarnation DESC LIMIT 1), 0))
                     ORDER BY c.ready_at, c.key LIMIT 1)) r
ORDER BY r.ready_at LIMIT 1)
RETURNING key, chat, fault

-- name: session_with_last_turn
SELECT s.id, s.key, s.chat, s.began, s.began_at, s.generation, s.incarnation, s.strikes,
       s.suspended_at, s.suspended_why, s.ended_at, s.ended_why, s.completed_at,
       t.id, t.session, t.cause, t.state, t.generation, t.attempt, t.owner, t.begun_at, t.claimed_at,
       t.progress_at, t.tail, t.noted, t.interruptions, t.interrupted_at, t.interruption, t.stop, t.held,
       t.ended_at, t.why, t.last_seq, s.longest_fatal
FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn
WHERE s.key = :key AND s.ended_at IS NULL

-- name: conversation_at
-- What a claim reads of a conversation: the settings of its chat, the live session and that session's last
-- turn.
SELECT h.busy, h.on_interruption, h.agent, h.model,
       s.id, s.key, s.chat, s.began, s.began_at, s.generation, s.incarnation, s.strikes,
       s.suspended_at, s.suspended_why, s.ended_at, s.ended_why, s.completed_at,
       t.id, t.session, t.cause, t.state, t.generation, t.attempt, t.owner, t.begun_at, t.claimed_at,
       t.progress_at, t.tail, t.noted, t.interruptions, t.interrupted_at, t.interruption, t.stop, t.held,
       t.ended_at, t.why, t.last_seq, s.longest_fatal, t.progress_mark
FROM chats h LEFT JOIN sessions s ON s.key = :key AND s.ended_at IS NULL LEFT JOIN turns t ON t.id = s.last_turn
WHERE h.address = :chat

-- name: end_session
UPDATE sessions SET ended_at = :now, ended_why = :why, generation = generation + 1, incarnation = incarnation + 1
WHERE id = :session AND ended_at IS NULL

-- name: add_session
-- The incarnation continues the count of the last session, so that no old number is ever valid again.
INSERT INTO sessions (id, key, chat, began, began_at, incarnation, strikes, follows_park, longest_fatal)
VALUES (:id, :key, :chat, :began, :now, (SELECT coalesce(max(incarnation), 0) FROM sessions WHERE key = :key),
        :strikes, :follows_park, :longest_fatal)
RETURNING incarnation

-- name: raise_generation
UPDATE sessions SET generation = generation + 1, strikes = strikes + 1, last_turn = :turn WHERE id = :session

-- name: add_turn
INSERT INTO turns (id, session, cause, state, generation, attempt, owner, last_owner, suspect,
                   begun_at, claimed_at, progress_at, progress_mark, tail, first_seq, last_seq)
VALUES (:id, :session, :cause, 'running', :generation, 1, :owner, :owner, :suspect, :now, :now, :now, :mark, 'message',
        :first_seq, :last_seq)

-- name: take_turn_again
UPDATE turns SET state = 'running', generation = :generation, attempt = attempt + 1, owner = :owner,
       last_owner = :owner, suspect = :suspect, productive = 0, claimed_at = :now
WHERE id = :turn AND state = 'queued'
RETURNING id, session, cause, state, generation, attempt, owner, begun_at, claimed_at, progress_at,
          tail, noted, interruptions, interrupted_at, interruption, stop, held, ended_at, why, last_seq

-- name: refuse_resume
UPDATE turns SET state = 'interrupted' WHERE id = :turn AND state = 'queued'

-- name: take_row
UPDATE inbox SET state = 'taken', turn = :turn, settled_at = :now
WHERE position = :position AND key = :key AND state = 'waiting'

-- name: rows_to_consume
-- A message after a command waits for the command; a message that set a question aside belongs to that
-- question.
SELECT position, sender, kind, body FROM inbox
WHERE position IN (SELECT value FROM json_each(:positions)) AND state = 'waiting' AND kind <> 'command'
  AND key = (SELECT key FROM sessions WHERE id = :session)
  AND (question IS NOT NULL OR NOT EXISTS (
      SELECT 1 FROM inbox o WHERE o.state = 'waiting' AND o.kind = 'command'
        AND o.position < inbox.position AND o.key = inbox.key))
ORDER BY position

-- name: row_was_of
SELECT 1 FROM inbox WHERE position = :position AND key = :key AND kind <> 'command'

-- name: rows_to_take
-- The rows that belong to a turn that is taken again: those that set its question aside and, if it was
-- interrupted, the oldest message, unless that came after a waiting command.
SELECT position, sender FROM inbox
WHERE key = :key AND state = 'waiting' AND kind <> 'command'
  AND (question IN (SELECT id FROM questions WHERE turn = :turn)
       OR (:interrupted AND position < :before AND position = (SELECT min(i.position) FROM inbox i
                                        WHERE i.key = :key AND i.state = 'waiting' AND i.kind <> 'command'
                                          AND i.kind = 'message')))
ORDER BY position

-- name: processes_follow
-- The processes that a resumed turn started or last looked at get its new generation.
UPDATE processes SET generation = :generation
WHERE session = :session AND (turn = :turn OR generation = :before)

-- name: take_seqs
UPDATE turns SET last_seq = last_seq + j.count
FROM (SELECT value ->> 0 AS turn, value ->> 1 AS count FROM json_each(:counts)) AS j
WHERE id = j.turn
RETURNING id, last_seq

-- name: add_entry
INSERT INTO entries (session, seq, turn, kind, call, count, body, at)
VALUES (:session, :seq, :turn, :kind, :call, :count, :body, :now)

-- name: entries_of_turn
-- Read from the first entry of the turn, so that the cost does not grow with the transcript before it.
SELECT e.seq, e.turn, e.at, e.kind, e.call, e.count, e.body
FROM turns t JOIN entries e ON e.session = t.session AND e.seq >= t.first_seq
WHERE t.id = :turn AND e.turn = t.id ORDER BY e.seq

-- name: transcript
SELECT seq, turn, at, kind, call, count, body FROM entries WHERE session = :session AND seq > :after ORDER BY seq

-- name: transcript_as_bytes
-- The same as bytes, for text that the driver cannot decode.
SELECT seq, turn, at, kind, call, count, CAST(body AS BLOB) FROM entries WHERE session = :session AND seq > :after
ORDER BY seq

-- name: calls_of_turn
SELECT c.id, c.name, c.arguments, c.effect, c.state, c.generation, coalesce(p.text, '')
FROM tool_calls c LEFT JOIN partials p ON p.turn = c.turn AND p.call = c.id WHERE c.turn = :turn ORDER BY c.place

-- name: questions_of_turn
SELECT q.id, q.kind, q.call, q.state, q.text, q.options, q.asked_of, q.expires_at, q.answer, q.call_hash, q.asked_at,
       q.closed_at, i.sender, q.asked_by, q.of_owner
FROM questions q LEFT JOIN inbox i ON i.position = q.answered_by WHERE q.turn = :turn ORDER BY q.id

-- name: live_session
SELECT id, key, chat, began, began_at, generation, incarnation, strikes,
       suspended_at, suspended_why, ended_at, ended_why, completed_at
FROM sessions WHERE key = :key AND ended_at IS NULL

-- name: session
SELECT id, key, chat, began, began_at, generation, incarnation, strikes,
       suspended_at, suspended_why, ended_at, ended_why, completed_at
FROM sessions WHERE id = :id

-- name: find_session
-- Ids consist of letters and digits, so a prefix is a range of the index.
SELECT id, key, chat, began, began_at, generation, incarnation, strikes,
       suspended_at, suspended_why, ended_at, ended_why, completed_at
FROM sessions WHERE key = :key AND id >= :prefix AND id < :prefix || '~' LIMIT 2

-- name: session_to_resume
-- The state of a session that a person wants to resume. Only the person who was asked answers a question of
-- the gateway, and only in time; without a person the operator answers it.
SELECT s.key, s.ended_at IS NOT NULL, s.suspended_at IS NOT NULL, t.id, t.state, t.id IS NOT NULL AND t.ended_at IS NULL,
       t.state = 'waiting' AND EXISTS (
           SELECT 1 FROM questions q WHERE q.turn = t.id AND q.state = 'open' AND q.kind = 'continue'
             AND q.expires_at > :now AND (:person IS NULL OR q.asked_of IS NULL OR q.asked_of = :person))
FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn
WHERE s.id = :session

-- name: unsuspend
-- The session counts as used now: otherwise a reset by age would end it with the next message.
UPDATE sessions SET suspended_at = NULL, suspended_why = NULL, strikes = 0, deaths = 0, cuts = 0, follows_park = 0,
       longest_fatal = 0,
       generation = generation + 1, completed_at = CASE WHEN completed_at IS NOT NULL THEN :now END
WHERE id = :session

-- name: reopen_session
-- The session gets a new incarnation: no old one is ever valid again, also none of the session that was live
-- meanwhile.
UPDATE sessions SET ended_at = NULL, ended_why = NULL, suspended_at = NULL, suspended_why = NULL,
       strikes = :strikes, deaths = 0, cuts = 0, follows_park = :follows_park, longest_fatal = :longest_fatal,
       generation = generation + 1,
       incarnation = 1 + (SELECT max(o.incarnation) FROM sessions o WHERE o.key = :key),
       completed_at = CASE WHEN completed_at IS NOT NULL THEN :now END
WHERE id = :session AND ended_at IS NOT NULL AND ended_why <> 'forgotten'

-- name: make_message
-- The reason marks the row, so that a later edit of the command's text does not change this message.
UPDATE inbox SET kind = :kind, body = :body, sender = coalesce(:sender, sender), reason = 'made from a command'
WHERE position = :position AND key = :key AND state = 'waiting' AND kind = 'command'

-- name: made_message_waiting
SELECT position FROM inbox
WHERE key = :key AND state = 'waiting' AND kind <> 'command' AND reason = 'made from a command' LIMIT 1

-- name: how_last_session_ended
SELECT ended_why FROM sessions WHERE key = :key ORDER BY id DESC LIMIT 1

-- name: left_by_last_session
-- Whether the last session was parked, or followed a parked one and has completed no turn since; and the age
-- of its longest fatal run.
SELECT suspended_at IS NOT NULL OR follows_park = 1, longest_fatal
FROM sessions WHERE key = :key ORDER BY incarnation DESC LIMIT 1

-- name: release_conversation
UPDATE conversations SET held_at = NULL WHERE key = :key AND held_at IS NOT NULL

-- name: on_hold
SELECT c.key, c.chat, c.held_at, s.id,
       (SELECT count(*) FROM (SELECT 1 FROM inbox i WHERE i.key = c.key AND i.state = 'waiting' AND i.kind <> 'command'
                              LIMIT 1000))
FROM conversations c INDEXED BY conversations_held LEFT JOIN sessions s ON s.key = c.key AND s.ended_at IS NULL
WHERE c.held_at IS NOT NULL ORDER BY c.held_at, c.key LIMIT :limit

-- name: move_message
-- An owner may resume the work of another conversation: the command becomes a message there that replies to
-- none.
UPDATE inbox SET kind = 'message', body = :body, reason = 'made from a command',
       chat = (SELECT c.chat FROM conversations c WHERE c.key = :key),
       message_id = CASE WHEN key = :key THEN message_id END, key = :key
WHERE position = :position AND state = 'waiting' AND kind = 'command'
