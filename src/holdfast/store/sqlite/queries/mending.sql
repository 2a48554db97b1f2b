-- Values of a type that the schema does not allow, and words that it does not know. A row with a value of a
-- wrong type cannot be changed at all until that value is replaced.

-- name: damaged_work
-- Rows that claims, senders and recovery read: open turns and all that belongs to them, waiting rows, owed
-- parts, the last process runs and open requests. Lists of words come as ',one,two,'.
SELECT 'sessions', o.id FROM sessions o WHERE o.id IN (
    SELECT t.session FROM turns t INDEXED BY one_open_turn WHERE t.ended_at IS NULL) AND (
   typeof(o.began) NOT IN ('text', 'null') OR typeof(o.began_at) NOT IN ('integer', 'null')
   OR typeof(o.strikes) NOT IN ('integer', 'null') OR typeof(o.longest_fatal) NOT IN ('integer', 'null')
   OR typeof(o.completed_at) NOT IN ('integer', 'null') OR typeof(o.suspended_at) NOT IN ('integer', 'null')
   OR typeof(o.suspended_why) NOT IN ('text', 'null') OR typeof(o.deaths) NOT IN ('integer', 'null')
   OR typeof(o.cuts) NOT IN ('integer', 'null') OR typeof(o.follows_park) NOT IN ('integer', 'null'))
UNION ALL
SELECT 'chats', h.address FROM chats h WHERE h.address IN (
    SELECT s.chat FROM turns t INDEXED BY one_open_turn CROSS JOIN sessions s ON s.id = t.session WHERE t.ended_at IS NULL
    UNION ALL SELECT address FROM chats INDEXED BY chats_due WHERE send_at IS NOT NULL) AND (
   typeof(h.busy) NOT IN ('text', 'null') OR typeof(h.on_interruption) NOT IN ('text', 'null')
   OR typeof(h.agent) NOT IN ('text', 'null') OR typeof(h.model) NOT IN ('text', 'null')
   OR typeof(h.throttled_until) NOT IN ('integer', 'null') OR typeof(h.last_number) NOT IN ('integer', 'null')
   OR typeof(h.send_at) NOT IN ('integer', 'null'))
UNION ALL
SELECT 'conversations', c.key FROM conversations c WHERE c.key IN (
    SELECT s.key FROM turns t INDEXED BY one_open_turn CROSS JOIN sessions s ON s.id = t.session WHERE t.ended_at IS NULL
    UNION ALL SELECT key FROM conversations INDEXED BY conversations_faulty WHERE fault IS NOT NULL
    UNION ALL SELECT key FROM conversations INDEXED BY conversations_ready WHERE ready_at IS NOT NULL
    UNION ALL SELECT key FROM conversations INDEXED BY conversations_held WHERE held_at IS NOT NULL) AND (
   typeof(c.ready_at) NOT IN ('integer', 'null') OR typeof(c.resume) NOT IN ('integer', 'null')
   OR typeof(c.fault) NOT IN ('text', 'null') OR typeof(c.held_at) NOT IN ('integer', 'null'))
UNION ALL
SELECT 'inbox', i.position FROM inbox i WHERE i.position IN (
    SELECT t.cause FROM turns t INDEXED BY one_open_turn WHERE t.ended_at IS NULL
    UNION ALL SELECT position FROM inbox INDEXED BY inbox_waiting WHERE state = 'waiting' AND kind <> 'command'
    UNION ALL SELECT position FROM inbox INDEXED BY inbox_commands WHERE state = 'waiting' AND kind = 'command'
    UNION ALL SELECT position FROM inbox INDEXED BY inbox_offered WHERE state = 'offered') AND (
   typeof(i.account) NOT IN ('text', 'null') OR typeof(i.event_id) NOT IN ('text', 'null')
   OR typeof(i.sender) NOT IN ('text', 'null') OR typeof(i.kind) NOT IN ('text', 'null')
   OR instr(:inbox_kinds, ',' || i.kind || ',') = 0 OR typeof(i.body) NOT IN ('text', 'null')
   OR typeof(i.message_id) NOT IN ('text', 'null') OR typeof(i.sent_at) NOT IN ('integer', 'null')
   OR typeof(i.accepted_at) NOT IN ('integer', 'null') OR typeof(i.incarnation) NOT IN ('integer', 'null')
   OR typeof(i.turn) NOT IN ('text', 'null') OR typeof(i.question) NOT IN ('text', 'null')
   OR typeof(i.reason) NOT IN ('text', 'null') OR typeof(i.state) <> 'text' OR instr(:inbox, ',' || i.state || ',') = 0)
UNION ALL
SELECT 'turns', t.id FROM turns t INDEXED BY one_open_turn WHERE t.ended_at IS NULL AND (
   typeof(t.owner) NOT IN ('text', 'null') OR typeof(t.last_owner) NOT IN ('text', 'null')
   OR typeof(t.attempt) NOT IN ('integer', 'null') OR typeof(t.suspect) NOT IN ('integer', 'null')
   OR typeof(t.productive) NOT IN ('integer', 'null') OR typeof(t.begun_at) NOT IN ('integer', 'null')
   OR typeof(t.claimed_at) NOT IN ('integer', 'null') OR typeof(t.progress_at) NOT IN ('integer', 'null')
   OR typeof(t.progress_mark) NOT IN ('text', 'null') OR typeof(t.tail) NOT IN ('text', 'null')
   OR typeof(t.noted) NOT IN ('integer', 'null') OR typeof(t.interruptions) NOT IN ('integer', 'null')
   OR typeof(t.interrupted_at) NOT IN ('integer', 'null') OR typeof(t.interruption) NOT IN ('text', 'null')
   OR typeof(t.held) NOT IN ('text', 'null') OR typeof(t.held_since) NOT IN ('integer', 'null')
   OR typeof(t.quarantined) NOT IN ('integer', 'null') OR typeof(t.consented) NOT IN ('integer', 'null')
   OR typeof(t.stop) NOT IN ('text', 'null') OR typeof(t.stop_at) NOT IN ('integer', 'null')
   OR typeof(t.why) NOT IN ('text', 'null') OR typeof(t.deaths) NOT IN ('integer', 'null')
   OR typeof(t.state) <> 'text' OR instr(:turns, ',' || t.state || ',') = 0)
UNION ALL
SELECT 'tool_calls', json_array(c.turn, c.id) FROM turns t INDEXED BY one_open_turn CROSS JOIN tool_calls c ON c.turn = t.id
WHERE t.ended_at IS NULL AND typeof(c.id) = 'text' AND (
   typeof(c.place) NOT IN ('integer', 'null') OR typeof(c.name) NOT IN ('text', 'null')
   OR typeof(c.arguments) NOT IN ('text', 'null') OR typeof(c.effect) NOT IN ('text', 'null')
   OR instr(:tool_calls_kinds, ',' || c.effect || ',') = 0 OR typeof(c.generation) NOT IN ('integer', 'null')
   OR typeof(c.runs) NOT IN ('integer', 'null') OR typeof(c.planned_at) NOT IN ('integer', 'null')
   OR typeof(c.started_at) NOT IN ('integer', 'null') OR typeof(c.result) NOT IN ('integer', 'null')
   OR typeof(c.state) <> 'text' OR instr(:tool_calls, ',' || c.state || ',') = 0)
UNION ALL
SELECT 'questions', q.id FROM questions q WHERE q.id IN (
    SELECT a.id FROM turns t INDEXED BY one_open_turn CROSS JOIN questions a ON a.turn = t.id WHERE t.ended_at IS NULL
    UNION ALL SELECT id FROM questions INDEXED BY questions_open WHERE state = 'open') AND (
   typeof(q.incarnation) NOT IN ('integer', 'null') OR typeof(q.call) NOT IN ('text', 'null')
   OR typeof(q.kind) NOT IN ('text', 'null') OR instr(:questions_kinds, ',' || q.kind || ',') = 0
   OR typeof(q.call_hash) NOT IN ('text', 'null') OR typeof(q.asked_of) NOT IN ('text', 'null')
   OR typeof(q.text) NOT IN ('text', 'null') OR typeof(q.options) NOT IN ('text', 'null')
   OR typeof(q.asked_at) NOT IN ('integer', 'null') OR typeof(q.expires_at) NOT IN ('integer', 'null')
   OR typeof(q.answer) NOT IN ('text', 'null') OR typeof(q.answered_by) NOT IN ('integer', 'null')
   OR typeof(q.shown_closed) NOT IN ('integer', 'null') OR typeof(q.asked_by) NOT IN ('text', 'null')
   OR typeof(q.of_owner) NOT IN ('integer', 'null') OR typeof(q.offers) NOT IN ('text', 'null')
   OR typeof(q.state) <> 'text' OR instr(:questions, ',' || q.state || ',') = 0)
UNION ALL
SELECT 'outbox', o.id FROM outbox o INDEXED BY outbox_unsettled WHERE o.settled_at IS NULL AND (
   typeof(o.number) NOT IN ('integer', 'null') OR typeof(o.session) NOT IN ('text', 'null')
   OR typeof(o.turn) NOT IN ('text', 'null') OR typeof(o.kind) NOT IN ('text', 'null')
   OR instr(:outbox_kinds, ',' || o.kind || ',') = 0 OR typeof(o.dedupe) NOT IN ('text', 'null')
   OR typeof(o.part) NOT IN ('integer', 'null') OR typeof(o.parts) NOT IN ('integer', 'null')
   OR typeof(o.body) NOT IN ('text', 'null') OR typeof(o.reply_to) NOT IN ('text', 'null')
   OR typeof(o.options) NOT IN ('text', 'null') OR typeof(o.attempts) NOT IN ('integer', 'null')
   OR typeof(o.repeated) NOT IN ('integer', 'null') OR typeof(o.not_before) NOT IN ('integer', 'null')
   OR typeof(o.owner) NOT IN ('text', 'null') OR typeof(o.created_at) NOT IN ('integer', 'null')
   OR typeof(o.claimed_at) NOT IN ('integer', 'null') OR typeof(o.platform_id) NOT IN ('text', 'null')
   OR typeof(o.reason) NOT IN ('text', 'null') OR typeof(o.tried) NOT IN ('text', 'null')
   OR typeof(o.files) NOT IN ('text', 'null') OR typeof(o.repeats) NOT IN ('integer', 'null')
   OR typeof(o.failing_since) NOT IN ('integer', 'null') OR typeof(o.overtaken_at) NOT IN ('integer', 'null')
   OR typeof(o.aside_at) NOT IN ('integer', 'null') OR typeof(o.state) <> 'text' OR instr(:outbox, ',' || o.state || ',') = 0)
UNION ALL
SELECT 'instances', r.id FROM (SELECT * FROM instances ORDER BY id DESC LIMIT 200) AS r
WHERE r.id IS NOT NULL AND (
   typeof(r.host) NOT IN ('text', 'null') OR typeof(r.pid) NOT IN ('integer', 'null')
   OR typeof(r.boot) NOT IN ('text', 'null') OR typeof(r.version) NOT IN ('text', 'null')
   OR typeof(r.started_at) NOT IN ('integer', 'null') OR typeof(r.heartbeat_at) NOT IN ('integer', 'null')
   OR typeof(r.stopped) NOT IN ('text', 'null') OR typeof(r.stopped_at) NOT IN ('integer', 'null')
   OR typeof(r.led_to_park) NOT IN ('integer', 'null'))
UNION ALL
SELECT 'requests', r.id FROM requests r INDEXED BY requests_open WHERE r.done_at IS NULL AND (
   typeof(r.what) NOT IN ('text', 'null') OR typeof(r.dedupe) NOT IN ('text', 'null')
   OR typeof(r.asked_by) NOT IN ('text', 'null') OR typeof(r.after_turn) NOT IN ('text', 'null')
   OR typeof(r.asked_at) NOT IN ('integer', 'null') OR typeof(r.outcome) NOT IN ('text', 'null')
   OR typeof(r.instance) NOT IN ('text', 'null'))

-- name: rows_of_conversation
-- The rows that a claim of this conversation reads.
SELECT 'conversations', c.key FROM conversations c WHERE c.key = :key
UNION ALL
SELECT 'chats', c.chat FROM conversations c WHERE c.key = :key
UNION ALL
SELECT 'sessions', s.id FROM sessions s WHERE s.key = :key AND s.ended_at IS NULL
UNION ALL
SELECT 'turns', s.last_turn FROM sessions s WHERE s.key = :key AND s.ended_at IS NULL AND s.last_turn IS NOT NULL
UNION ALL
SELECT 'inbox', t.cause FROM sessions s JOIN turns t ON t.id = s.last_turn WHERE s.key = :key AND s.ended_at IS NULL
UNION ALL
SELECT 'inbox', i.position FROM inbox i WHERE i.key = :key AND i.state = 'waiting' AND i.kind <> 'command'
UNION ALL
SELECT 'tool_calls', json_array(k.turn, k.id) FROM sessions s JOIN tool_calls k ON k.turn = s.last_turn
WHERE s.key = :key AND s.ended_at IS NULL AND typeof(k.id) = 'text'
UNION ALL
SELECT 'questions', q.id FROM sessions s JOIN questions q ON q.turn = s.last_turn
WHERE s.key = :key AND s.ended_at IS NULL

-- name: rows_of_line
-- The rows that a sender reads of a chat.
SELECT 'chats', h.address FROM chats h WHERE h.address = :chat
UNION ALL
SELECT 'outbox', o.id FROM outbox o WHERE o.chat = :chat AND o.settled_at IS NULL

-- name: fields_of_turns
SELECT owner, last_owner, attempt, suspect, productive, begun_at, claimed_at, progress_at, progress_mark, tail,
       noted, interruptions, interrupted_at, interruption, held, held_since, quarantined, consented, stop, stop_at,
       why, deaths, state
FROM turns WHERE id = :id

-- name: fields_of_sessions
SELECT began, began_at, strikes, longest_fatal, completed_at, suspended_at, suspended_why, deaths, cuts,
       follows_park
FROM sessions WHERE id = :id

-- name: fields_of_chats
SELECT busy, on_interruption, agent, model, throttled_until, last_number, send_at
FROM chats WHERE address = :id

-- name: fields_of_conversations
SELECT ready_at, resume, fault, held_at
FROM conversations WHERE key = :id

-- name: fields_of_inbox
SELECT account, event_id, sender, kind, body, message_id, sent_at, accepted_at, incarnation, turn, question,
       reason, state
FROM inbox WHERE position = :id

-- name: fields_of_tool_calls
SELECT place, name, arguments, effect, generation, runs, planned_at, started_at, result, state
FROM tool_calls WHERE turn = :id ->> 0 AND id = :id ->> 1

-- name: fields_of_questions
SELECT incarnation, call, kind, call_hash, asked_of, text, options, asked_at, expires_at, answer, answered_by,
       shown_closed, asked_by, of_owner, offers, state
FROM questions WHERE id = :id

-- name: fields_of_outbox
SELECT number, session, turn, kind, dedupe, part, parts, body, reply_to, options, attempts, repeated, not_before,
       owner, created_at, claimed_at, platform_id, reason, tried, files, repeats, failing_since, overtaken_at,
       aside_at, state
FROM outbox WHERE id = :id

-- name: fields_of_instances
SELECT host, pid, boot, version, started_at, heartbeat_at, stopped, stopped_at, led_to_park
FROM instances WHERE id = :id

-- name: fields_of_requests
SELECT what, dedupe, asked_by, after_turn, asked_at, outcome, instance
FROM requests WHERE id = :id

-- name: mend_turns
-- A running turn must have an owner, so an unknown one is written as ''. An open turn has no time of its end.
UPDATE turns SET state = :state, owner = CASE WHEN :state = 'running' THEN coalesce(:owner, '') END,
       last_owner = :last_owner, attempt = :attempt,
       suspect = CASE WHEN :state = 'running' THEN :suspect ELSE 0 END, productive = :productive,
       begun_at = :begun_at, claimed_at = :claimed_at, progress_at = :progress_at, progress_mark = :progress_mark,
       tail = :tail, noted = :noted, interruptions = :interruptions, interrupted_at = :interrupted_at,
       interruption = :interruption, held = CASE WHEN :state = 'interrupted' THEN :held END,
       held_since = :held_since, quarantined = :quarantined, consented = :consented, stop = :stop,
       stop_at = :stop_at, why = :why, deaths = :deaths,
       ended_at = CASE WHEN :state IN ('queued', 'running', 'waiting', 'interrupted') THEN NULL
                       WHEN typeof(ended_at) = 'integer' THEN ended_at ELSE :now END
WHERE id = :id

-- name: mend_sessions
UPDATE sessions SET began = :began, began_at = :began_at, strikes = :strikes, longest_fatal = :longest_fatal,
       completed_at = :completed_at, suspended_at = :suspended_at, suspended_why = :suspended_why,
       deaths = :deaths, cuts = :cuts, follows_park = :follows_park
WHERE id = :id

-- name: mend_chats
-- The counter of a chat is the number of its last part.
UPDATE chats SET busy = :busy, on_interruption = :on_interruption, agent = :agent, model = :model,
       throttled_until = :throttled_until,
       last_number = coalesce(:last_number, (SELECT max(o.number) FROM outbox o
                                             WHERE o.chat = :id AND typeof(o.number) = 'integer'), 0),
       send_at = :send_at
WHERE address = :id

-- name: mend_conversations
-- A conversation that an owner has to release is not ready.
UPDATE conversations SET ready_at = CASE WHEN :held_at IS NULL THEN :ready_at END, resume = :resume,
       fault = :fault, held_at = :held_at
WHERE key = :id

-- name: mend_inbox
-- If the turn of a taken message is lost, it is the turn that the message caused.
UPDATE inbox SET state = :state, account = :account, event_id = coalesce(:event_id, 'unreadable:' || :id),
       sender = :sender, kind = :kind, body = :body, message_id = :message_id, sent_at = :sent_at,
       accepted_at = :accepted_at, incarnation = :incarnation,
       turn = coalesce(:turn, CASE WHEN :state = 'taken' THEN (SELECT t.id FROM turns t WHERE t.cause = :id) END),
       question = :question, reason = :reason,
       settled_at = CASE WHEN :state IN ('waiting', 'offered') THEN NULL
                         WHEN typeof(settled_at) = 'integer' THEN settled_at ELSE :now END
WHERE position = :id

-- name: mend_tool_calls
-- A call that ends needs the number of its result entry: the next number, if no entry is its result.
UPDATE tool_calls SET state = :state, place = :place, name = :name, arguments = :arguments, effect = :effect,
       generation = :generation, runs = CASE WHEN :effect = 'effect' THEN min(:runs, 1) ELSE :runs END,
       planned_at = :planned_at,
       started_at = CASE WHEN :state NOT IN ('planned', 'skipped') THEN coalesce(:started_at, :planned_at) END,
       result = CASE WHEN :state NOT IN ('planned', 'started') THEN coalesce(:result,
           (SELECT e.seq FROM turns t JOIN entries e ON e.session = t.session
            WHERE t.id = :id ->> 0 AND e.turn = t.id AND e.call = :id ->> 1),
           (SELECT t.last_seq + 1 FROM turns t WHERE t.id = :id ->> 0)) END,
       settled_at = CASE WHEN :state IN ('planned', 'started') THEN NULL
                         WHEN typeof(settled_at) = 'integer' THEN settled_at ELSE :now END
WHERE turn = :id ->> 0 AND id = :id ->> 1

-- name: mend_questions
-- Some columns are allowed for one kind only: they are emptied for the others.
UPDATE questions SET state = :state, incarnation = :incarnation,
       call = CASE WHEN :kind <> 'continue' THEN coalesce(:call, '') END, kind = :kind,
       call_hash = CASE WHEN :kind = 'approval' THEN coalesce(:call_hash, '') END, asked_of = :asked_of,
       text = :text, options = :options, asked_at = :asked_at, expires_at = :expires_at, answer = :answer,
       answered_by = :answered_by, shown_closed = :shown_closed, asked_by = :asked_by, of_owner = :of_owner,
       offers = CASE WHEN :kind = 'approval' THEN :offers END,
       closed_at = CASE WHEN :state = 'open' THEN NULL WHEN typeof(closed_at) = 'integer' THEN closed_at ELSE :now END
WHERE id = :id

-- name: mend_outbox
-- The parts of a chat are numbered without a gap: a lost number is the one that is missing there.
UPDATE outbox SET state = :state,
       number = coalesce(:number, (
           SELECT min(n.number) + 1
           FROM (SELECT 0 AS number UNION ALL SELECT o.number FROM outbox o WHERE o.chat = outbox.chat) AS n
           WHERE typeof(n.number) = 'integer' AND NOT EXISTS (
               SELECT 1 FROM outbox x WHERE x.chat = outbox.chat AND x.number = n.number + 1))),
       session = :session, turn = :turn, kind = :kind, dedupe = coalesce(:dedupe, 'unreadable:' || :id),
       part = :part, parts = :parts, body = :body, reply_to = :reply_to, options = :options, attempts = :attempts,
       repeated = :repeated, not_before = :not_before,
       owner = CASE WHEN :state = 'sending' THEN coalesce(:owner, '') END,
       created_at = coalesce(:created_at, :now), claimed_at = :claimed_at, platform_id = :platform_id,
       reason = :reason, tried = :tried, files = :files, repeats = :repeats, failing_since = :failing_since,
       overtaken_at = :overtaken_at, aside_at = :aside_at,
       settled_at = CASE WHEN :state IN ('pending', 'sending', 'unknown') THEN NULL
                         WHEN typeof(settled_at) = 'integer' THEN settled_at ELSE :now END
WHERE id = :id

-- name: mend_instances
-- If only one time of a process run can be read, it counts as both its start and its last heartbeat.
UPDATE instances SET host = :host, pid = :pid, boot = :boot, version = :version,
       started_at = coalesce(:started_at, :heartbeat_at, 0),
       heartbeat_at = coalesce(:heartbeat_at, :started_at, 0), stopped = :stopped,
       stopped_at = CASE WHEN :stopped IS NOT NULL THEN coalesce(:stopped_at, :heartbeat_at, 0) END,
       led_to_park = :led_to_park
WHERE id = :id

-- name: mend_requests
UPDATE requests SET what = :what, dedupe = coalesce(:dedupe, 'unreadable:' || :id), asked_by = :asked_by,
       after_turn = :after_turn, asked_at = :asked_at, outcome = NULL, instance = :instance, done_at = NULL
WHERE id = :id

-- name: unreadable_turn
-- The session of a turn whose state cannot be read, and the chat to tell; no row if the turn had ended
-- before.
SELECT s.id, s.key, s.chat, i.message_id
FROM turns t JOIN sessions s ON s.id = t.session LEFT JOIN inbox i ON i.position = t.cause
WHERE t.id = :turn AND typeof(t.ended_at) <> 'integer'

-- name: key_of_turn
SELECT s.key FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = :turn

-- name: unreadable_call
-- A call that has ended without a result entry, with the place of that entry.
SELECT t.session, c.turn, c.id, c.result FROM tool_calls c JOIN turns t ON t.id = c.turn
WHERE c.turn = :id ->> 0 AND c.id = :id ->> 1 AND c.result > t.last_seq

-- name: turn_of_question
SELECT q.turn, s.key FROM questions q JOIN sessions s ON s.id = q.session WHERE q.id = :id

-- name: chat_of_part
SELECT chat FROM outbox WHERE id = :id

-- name: key_of_row
SELECT key FROM inbox WHERE position = :id

-- name: set_conversation_aside
UPDATE conversations SET fault = :fault, ready_at = NULL, resume = 0 WHERE key = :key AND fault IS NOT :fault
RETURNING chat

-- name: clear_fault
UPDATE conversations SET fault = NULL WHERE key = :key

-- name: conversations_set_aside
SELECT key FROM conversations WHERE fault IS NOT NULL

-- name: keep_aside
-- The fault of a part of the ledger, once; another fault of the same part replaces it.
INSERT INTO set_aside (account, event_id, reason, payload, at) VALUES (:account, :part, :reason, :payload, :now)
ON CONFLICT (account, event_id) WHERE event_id IS NOT NULL
DO UPDATE SET reason = excluded.reason, payload = excluded.payload, at = excluded.at
WHERE reason <> excluded.reason

-- name: take_from_aside
DELETE FROM set_aside WHERE account = :account AND event_id = :part
