-- name: orphans
-- Without a list of the turns that this process runs, its own turns are left out.
SELECT t.id, t.session, t.owner, t.claimed_at, i.heartbeat_at, i.stopped, t.productive
FROM turns t LEFT JOIN instances i ON i.id = t.owner
WHERE t.ended_at IS NULL AND t.state = 'running'
  AND (t.owner <> :owner
       OR (:running IS NOT NULL AND t.id NOT IN (SELECT value FROM json_each(:running))))
LIMIT :limit

-- name: interrupt_orphans
-- If this process itself lost the turn, `last_owner` is empty: recovery need not wait for another process. A
-- damaged count is brought back into its range: too low becomes 0, too high becomes the maximum.
UPDATE turns SET state = 'interrupted', owner = NULL, suspect = 0,
       last_owner = CASE WHEN owner <> :owner THEN last_owner END, interruption = :reason, interrupted_at = :now,
       interruptions = max(0, min(interruptions, 1000000)) + 1, deaths = deaths + (:died AND owner <> :owner)
WHERE id IN (SELECT value FROM json_each(:turns)) AND state = 'running'

-- name: ran_while_it_stood_still
-- Sessions whose tool ran while the loop of their process stood still.
SELECT DISTINCT s.id, s.strikes FROM turns t JOIN sessions s ON s.id = t.session
WHERE t.id IN (SELECT value FROM json_each(:turns))
  AND EXISTS (SELECT 1 FROM events e WHERE e.subject = 'instance:' || t.owner AND e.what = :what)
  AND EXISTS (SELECT 1 FROM tool_calls c WHERE c.turn = t.id AND c.state = 'started')

-- name: set_strikes
UPDATE sessions SET strikes = :strikes WHERE id = :session

-- name: remember_fatal_runs
-- Count the death and keep the age of the run: a suspect has to run twice as long as the longest fatal run.
UPDATE sessions SET longest_fatal = max(longest_fatal, j.ran), deaths = deaths + 1
FROM (SELECT value ->> 0 AS session, value ->> 1 AS ran FROM json_each(:runs)) AS j
WHERE sessions.id = j.session

-- name: stale_turns
-- A page is one row: with one row per turn, the driver would pass the interpreter's lock back and forth with
-- the writer. The first column has the owners and times of all turns, the second the condition of each, one
-- line per turn: after a crash thousands share one condition. JSON holds only valid text: a sender that
-- cannot be read becomes '', and a turn whose conversation cannot be read is left out, so that the others can
-- be judged.
SELECT json_group_array(json_array(
           page.id, page.session, s.key, s.chat, page.generation, s.incarnation,
           CASE WHEN typeof(c.sender) = 'text' THEN c.sender ELSE '' END,
           (SELECT CASE WHEN typeof(i.sender) = 'text' THEN i.sender ELSE '' END FROM inbox i
            WHERE i.key = s.key AND i.state = 'waiting' AND i.kind <> 'command' AND i.kind = 'message'
            ORDER BY i.position LIMIT 1),
           CASE WHEN typeof(c.message_id) = 'text' THEN c.message_id END, page.progress_at, page.progress_mark,
           CASE WHEN page.quarantined BETWEEN 0 AND 253402300799999 THEN page.quarantined ELSE 0 END
           + CASE WHEN (page.held = 'quarantine' OR page.held = 'safe_mode') AND page.held_since BETWEEN 0 AND :now THEN :now - page.held_since ELSE 0 END,
           CASE WHEN page.tail = 'question' THEN
               (SELECT min(q.expires_at, coalesce(q.closed_at, q.expires_at)) FROM questions q
                WHERE q.turn = page.id AND q.kind <> 'continue'
                ORDER BY q.state = 'open' AND q.expires_at > :now DESC, q.asked_at DESC, q.id DESC LIMIT 1) END)),
       group_concat(json_array(
           s.suspended_at IS NOT NULL, page.stop, page.tail,
           CASE WHEN page.tail = 'question' THEN
               (SELECT CASE WHEN q.state = 'open' AND q.expires_at <= :now THEN 'expired' ELSE q.state END || ' ' || q.kind
                FROM questions q WHERE q.turn = page.id AND q.kind <> 'continue'
                ORDER BY q.state = 'open' AND q.expires_at > :now DESC, q.asked_at DESC, q.id DESC LIMIT 1)
           WHEN EXISTS (SELECT 1 FROM questions q WHERE q.state = 'open' AND q.kind = 'continue') THEN
               (SELECT 'open continue' FROM questions q
                WHERE q.turn = page.id AND q.kind = 'continue' AND q.state = 'open' AND q.expires_at > :now) END,
           page.noted, s.strikes, page.interruptions, page.interruption, page.last_owner, page.held,
           h.on_interruption, page.consented = page.interruptions,
           s.deaths, s.cuts, page.deaths, s.follows_park = 1,
           CASE WHEN s.strikes > 1 OR page.interruptions > 1 OR s.follows_park = 1 THEN
               (SELECT count(*) FROM sessions o CROSS JOIN turns p ON p.session = o.id AND p.state = 'parked'
                WHERE o.key = s.key AND p.why <> 'suspended' AND p.ended_at > :now - 86400000) ELSE 0 END), char(10))
FROM (SELECT id, session, cause, generation, stop, tail, noted, interruptions, interruption, last_owner, progress_at,
             progress_mark, quarantined, held, held_since, consented, deaths
      FROM turns WHERE state = 'interrupted' AND id > :after ORDER BY id LIMIT :limit) page
CROSS JOIN sessions s ON s.id = page.session CROSS JOIN inbox c ON c.position = page.cause
CROSS JOIN chats h ON h.address = s.chat
WHERE typeof(s.key) = 'text' AND typeof(s.chat) = 'text'

-- name: stale_turn
-- The same for one queued turn: it has no last owner to wait for, and it is not held.
SELECT json_group_array(json_array(
           t.id, t.session, s.key, s.chat, t.generation, s.incarnation,
           CASE WHEN typeof(c.sender) = 'text' THEN c.sender ELSE '' END,
           (SELECT CASE WHEN typeof(i.sender) = 'text' THEN i.sender ELSE '' END FROM inbox i
            WHERE i.key = s.key AND i.state = 'waiting' AND i.kind <> 'command' AND i.kind = 'message'
            ORDER BY i.position LIMIT 1),
           CASE WHEN typeof(c.message_id) = 'text' THEN c.message_id END, t.progress_at, t.progress_mark,
           CASE WHEN t.quarantined BETWEEN 0 AND 253402300799999 THEN t.quarantined ELSE 0 END,
           CASE WHEN t.tail = 'question' THEN
               (SELECT min(q.expires_at, coalesce(q.closed_at, q.expires_at)) FROM questions q
                WHERE q.turn = t.id AND q.kind <> 'continue'
                ORDER BY q.state = 'open' AND q.expires_at > :now DESC, q.asked_at DESC, q.id DESC LIMIT 1) END)),
       group_concat(json_array(
           s.suspended_at IS NOT NULL, t.stop, t.tail,
           CASE WHEN t.tail = 'question' THEN
               (SELECT CASE WHEN q.state = 'open' AND q.expires_at <= :now THEN 'expired' ELSE q.state END || ' ' || q.kind
                FROM questions q WHERE q.turn = t.id AND q.kind <> 'continue'
                ORDER BY q.state = 'open' AND q.expires_at > :now DESC, q.asked_at DESC, q.id DESC LIMIT 1)
           WHEN EXISTS (SELECT 1 FROM questions q WHERE q.state = 'open' AND q.kind = 'continue') THEN
               (SELECT 'open continue' FROM questions q
                WHERE q.turn = t.id AND q.kind = 'continue' AND q.state = 'open' AND q.expires_at > :now) END,
           t.noted, s.strikes, t.interruptions, t.interruption, NULL, NULL,
           h.on_interruption, t.consented = t.interruptions,
           s.deaths, s.cuts, t.deaths, s.follows_park = 1,
           CASE WHEN s.strikes > 1 OR t.interruptions > 1 OR s.follows_park = 1 THEN
               (SELECT count(*) FROM sessions o CROSS JOIN turns p ON p.session = o.id AND p.state = 'parked'
                WHERE o.key = s.key AND p.why <> 'suspended' AND p.ended_at > :now - 86400000) ELSE 0 END), char(10))
FROM turns t JOIN sessions s ON s.id = t.session JOIN inbox c ON c.position = t.cause
JOIN chats h ON h.address = s.chat
WHERE t.id = :turn

-- name: as_decided_on
-- The guard of a page of decisions in one read: how many turns are still interrupted, and the sums of their
-- counters.
SELECT count(*), sum(t.generation), sum(s.incarnation), sum(t.consented = t.interruptions)
FROM json_each(:turns) AS j CROSS JOIN turns t ON t.id = j.value CROSS JOIN sessions s ON s.id = t.session
WHERE t.state = 'interrupted'

-- name: moved
-- The same turn by turn: those that are no longer interrupted, have another generation or incarnation by now,
-- or whose person has said continue.
SELECT j.key FROM json_each(:guards) AS j
LEFT JOIN turns t ON t.id = j.key AND t.state = 'interrupted' LEFT JOIN sessions s ON s.id = t.session
WHERE t.generation || ':' || s.incarnation || ':' || (t.consented = t.interruptions) IS NOT j.value

-- name: requeue_stale
UPDATE turns SET state = 'queued', held = NULL, held_since = NULL,
       quarantined = CASE WHEN quarantined BETWEEN 0 AND 253402300799999 THEN quarantined ELSE 0 END
           + CASE WHEN (held = 'quarantine' OR held = 'safe_mode') AND held_since BETWEEN 0 AND :now THEN :now - held_since ELSE 0 END
FROM json_each(:guards) AS j
WHERE turns.id = j.key AND turns.generation = j.value AND turns.state = 'interrupted'

-- name: queued_among
SELECT t.id FROM json_each(:guards) AS j
JOIN turns t ON t.id = j.key AND t.generation = j.value AND t.state = 'queued'

-- name: ready_requeued
UPDATE conversations SET ready_at = coalesce(ready_at, :now), resume = 1
WHERE key IN (SELECT value FROM json_each(:keys)) AND held_at IS NULL

-- name: hold_stale
-- Time in line for the lane, or held by safe mode, does not age work: it is added up when the hold ends.
UPDATE turns SET held = j.row, held_since = :now,
       quarantined = CASE WHEN quarantined BETWEEN 0 AND 253402300799999 THEN quarantined ELSE 0 END
           + CASE WHEN (held = 'quarantine' OR held = 'safe_mode') AND held_since BETWEEN 0 AND :now THEN :now - held_since ELSE 0 END
FROM (SELECT value ->> 0 AS turn, value ->> 1 AS row FROM json_each(:held)) AS j
WHERE id = j.turn AND state = 'interrupted'

-- name: end_stale
UPDATE turns SET state = j.state, ended_at = :now, why = j.why, held = NULL
FROM (SELECT value ->> 0 AS turn, value ->> 1 AS state, value ->> 2 AS why FROM json_each(:endings)) AS j
WHERE id = j.turn AND turns.state = 'interrupted'

-- name: wait_stale
-- Only if a question is open: a turn does not wait for one that was closed meanwhile.
UPDATE turns SET state = 'waiting', held = NULL, noted = interruptions
WHERE id IN (SELECT value FROM json_each(:turns)) AND state = 'interrupted'
  AND EXISTS (SELECT 1 FROM questions q WHERE q.turn = turns.id AND q.state = 'open')
RETURNING id

-- name: ask_stale
UPDATE turns SET state = 'waiting', held = NULL, held_since = NULL,
       quarantined = CASE WHEN quarantined BETWEEN 0 AND 253402300799999 THEN quarantined ELSE 0 END
           + CASE WHEN (held = 'quarantine' OR held = 'safe_mode') AND held_since BETWEEN 0 AND :now THEN :now - held_since ELSE 0 END
WHERE id IN (SELECT value FROM json_each(:turns)) AND state = 'interrupted'

-- name: cancel_questions_of
UPDATE questions SET state = 'cancelled', closed_at = :now
WHERE state = 'open' AND turn IN (SELECT value FROM json_each(:turns))

-- name: expire_overdue_of
-- The time of these questions was up before the decision to end the turn.
UPDATE questions SET state = 'expired', closed_at = :now
WHERE state = 'open' AND expires_at <= :now AND turn IN (SELECT value FROM json_each(:turns))
RETURNING id

-- name: after_stale_end
-- Every turn that ended raises the generation; a completed one also clears the counts of its session.
UPDATE sessions SET generation = generation + 1,
       completed_at = CASE WHEN j.state = 'done' THEN :now ELSE completed_at END,
       strikes = CASE WHEN j.state = 'done' THEN 0 ELSE strikes END,
       longest_fatal = CASE WHEN j.state = 'done' THEN 0 ELSE longest_fatal END,
       deaths = CASE WHEN j.state = 'done' THEN 0 ELSE deaths END,
       cuts = CASE WHEN j.state = 'done' THEN 0 ELSE cuts END,
       follows_park = CASE WHEN j.state = 'done' THEN 0 ELSE follows_park END
FROM (SELECT value ->> 0 AS session, value ->> 1 AS state FROM json_each(:sessions)) AS j
WHERE id = j.session

-- name: end_sessions
UPDATE sessions SET ended_at = :now, ended_why = :why, generation = generation + 1, incarnation = incarnation + 1
WHERE id IN (SELECT value FROM json_each(:sessions)) AND ended_at IS NULL

-- name: suspend_sessions
UPDATE sessions SET suspended_at = :now, suspended_why = j.why, incarnation = incarnation + 1
FROM (SELECT value ->> 0 AS session, value ->> 1 AS why FROM json_each(:sessions)) AS j
WHERE id = j.session AND suspended_at IS NULL

-- name: await_owner
UPDATE conversations SET held_at = :now, ready_at = NULL, resume = 0
WHERE key IN (SELECT value FROM json_each(:keys)) AND held_at IS NULL

-- name: blame_instances
UPDATE instances SET led_to_park = 1
WHERE id IN (SELECT last_owner FROM turns WHERE id IN (SELECT value FROM json_each(:turns)))

-- name: ready_freed
-- Conversations whose open turn has just ended: ready if a row waits, by the same rule as
-- `refresh_conversation`.
UPDATE conversations SET resume = 0, ready_at = CASE WHEN held_at IS NULL AND EXISTS (
    SELECT 1 FROM inbox i WHERE i.key = conversations.key AND i.state = 'waiting' AND i.kind <> 'command'
      AND NOT EXISTS (SELECT 1 FROM inbox o WHERE o.state = 'waiting' AND o.kind = 'command'
                      AND o.position < i.position AND o.key = i.key))
    THEN coalesce(ready_at, :now) END
WHERE key IN (SELECT value FROM json_each(:keys))
