-- These queries search whole tables: an erase is rare, and the ledger is rewritten after it anyway.

-- name: sessions_to_erase
SELECT id, last_turn FROM sessions WHERE key = :key AND (:session IS NULL OR id = :session)

-- name: rows_to_erase
-- Of one session: the rows that its turns took, the answers to its questions, and the settled messages and
-- commands that came while it was live and belong to no turn or question.
SELECT i.position FROM inbox i
WHERE i.position < :before
  AND (i.question IN (SELECT q.id FROM questions q WHERE q.session IN (SELECT value FROM json_each(:sessions)))
       OR i.key = :key AND (
           :session IS NULL
           OR i.turn IN (SELECT t.id FROM turns t WHERE t.session = :session)
           OR i.turn IS NULL AND i.question IS NULL AND i.settled_at IS NOT NULL AND EXISTS (
               SELECT 1 FROM sessions s WHERE s.id = :session
                 AND i.accepted_at BETWEEN s.began_at AND coalesce(s.ended_at, i.accepted_at))))

-- name: others_spoke
SELECT 1 FROM inbox WHERE key = :key AND kind = 'message' AND sender <> :person LIMIT 1

-- name: drop_offered
UPDATE inbox SET state = 'dropped', reason = 'forgotten', settled_at = :now
WHERE key = :key AND state = 'offered' AND position < :before

-- name: parts_to_erase
-- The parts that these sessions owed, the lines that replace some of them, and the notices about these
-- messages: acknowledgements, answers to commands, refused edits.
SELECT id, chat, state FROM outbox WHERE session IN (SELECT value FROM json_each(:sessions))
UNION
SELECT l.id, l.chat, l.state FROM outbox o
JOIN outbox l ON l.dedupe IN ('line:' || o.dedupe, 'line:' || o.dedupe || '/' || o.part,
                              'line:' || o.dedupe || '/' || o.part || ':late')
WHERE o.session IN (SELECT value FROM json_each(:sessions))
UNION
SELECT o.id, o.chat, o.state FROM json_each(:positions) p
CROSS JOIN (SELECT 'ack:' AS word UNION ALL SELECT 'command:' UNION ALL SELECT 'edit:') w
JOIN outbox o ON o.dedupe = w.word || p.value

-- name: bodies_with_files
-- Each with the position of the message that brought its files. Files of a tool came with no message: they
-- get the highest position.
SELECT body, position FROM inbox WHERE position IN (SELECT value FROM json_each(:positions)) AND instr(body, '"files"')
UNION ALL
SELECT e.body, CASE e.kind WHEN 'returned' THEN 9223372036854775807 ELSE t.cause END FROM entries e JOIN turns t ON t.id = e.turn
WHERE e.session IN (SELECT value FROM json_each(:sessions)) AND instr(e.body, '"files"')

-- name: files_in_parts
-- A tool stored these files, like those in its results.
SELECT files FROM outbox WHERE id IN (SELECT value FROM json_each(:parts)) AND files <> '[]'

-- name: named_elsewhere
SELECT 1 FROM inbox WHERE position NOT IN (SELECT value FROM json_each(:positions)) AND instr(body, :digest)
UNION ALL
SELECT 1 FROM entries WHERE session NOT IN (SELECT value FROM json_each(:sessions)) AND instr(body, :digest)
UNION ALL
SELECT 1 FROM outbox WHERE id NOT IN (SELECT value FROM json_each(:parts)) AND instr(files, :digest)
LIMIT 1

-- name: forget_blob
DELETE FROM blobs WHERE digest = :digest AND brought < :last

-- name: erase_entries
-- An undo has no content: it names only the entries that it hides.
UPDATE entries SET body = NULL
WHERE session IN (SELECT value FROM json_each(:sessions)) AND body IS NOT NULL AND kind <> 'undone'
RETURNING session

-- name: erase_rows
UPDATE inbox SET body = NULL
WHERE position IN (SELECT value FROM json_each(:positions)) AND body IS NOT NULL
RETURNING kind

-- name: erase_calls
UPDATE tool_calls SET arguments = NULL
WHERE turn IN (SELECT id FROM turns WHERE session IN (SELECT value FROM json_each(:sessions)))

-- name: erase_questions
UPDATE questions SET text = NULL, options = '[]', answer = NULL, offers = NULL,
       call_hash = CASE WHEN call_hash IS NOT NULL THEN '' END
WHERE session IN (SELECT value FROM json_each(:sessions))

-- name: erase_parts
UPDATE outbox SET body = NULL, options = '[]', files = '[]' WHERE id IN (SELECT value FROM json_each(:parts))

-- name: expire_parts
UPDATE outbox SET state = 'expired', settled_at = :now, reason = 'forgotten'
WHERE id IN (SELECT value FROM json_each(:parts)) AND state IN ('pending', 'unknown')
RETURNING id

-- name: erase_processes
UPDATE processes SET command = NULL, patterns = '[]' WHERE session IN (SELECT value FROM json_each(:sessions))

-- name: erase_goals
UPDATE goals SET text = NULL, words = NULL WHERE session IN (SELECT value FROM json_each(:sessions))

-- name: revoke_forgotten
-- Rules contain words of the call that they were given for: they are erased and revoked with the session.
UPDATE allowed_calls SET revoked_at = :now, revoked_by = :by
WHERE session IN (SELECT value FROM json_each(:sessions)) AND revoked_at IS NULL
RETURNING id

-- name: erase_allowed_calls
UPDATE allowed_calls SET call_hash = '', prefix = NULL, arguments = NULL
WHERE session IN (SELECT value FROM json_each(:sessions))

-- name: mark_forgotten
UPDATE sessions SET ended_why = 'forgotten'
WHERE id IN (SELECT value FROM json_each(:sessions)) AND ended_at IS NOT NULL

-- name: begin_command
UPDATE inbox SET reason = :reason WHERE position = :position AND state = 'waiting' AND kind = 'command'
