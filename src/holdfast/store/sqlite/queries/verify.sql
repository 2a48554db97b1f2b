-- name: integrity
PRAGMA integrity_check

-- name: foreign_keys
PRAGMA foreign_key_check

-- name: broken_invariants
-- Each finding says what is wrong and names the row. The schema forbids most of these, so a row here is
-- damage.
SELECT 'turn with unsettled calls has ended: ' || t.id
FROM tool_calls c JOIN turns t ON t.id = c.turn WHERE c.settled_at IS NULL AND t.ended_at IS NOT NULL
UNION ALL
SELECT 'settled call without a result: ' || c.turn || '/' || c.id
FROM tool_calls c WHERE c.settled_at IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM turns t JOIN entries e ON e.session = t.session AND e.seq = c.result
                 WHERE t.id = c.turn AND e.turn = c.turn AND e.call = c.id)
UNION ALL
SELECT 'result of a call that is not settled: ' || e.turn || '/' || e.call
FROM entries e WHERE e.kind = 'returned'
 AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.turn = e.turn AND c.id = e.call AND c.settled_at IS NOT NULL)
UNION ALL
SELECT 'result that does not match the state of its call: ' || e.turn || '/' || e.call
FROM entries e JOIN tool_calls c ON c.turn = e.turn AND c.id = e.call
WHERE e.kind = 'returned' AND json_valid(e.body) AND e.body ->> 'state' <> c.state
UNION ALL
SELECT 'open question of an ended turn: ' || q.id
FROM questions q JOIN turns t ON t.id = q.turn WHERE q.state = 'open' AND t.ended_at IS NOT NULL
UNION ALL
SELECT 'partial of an ended turn: ' || p.turn || '/' || p.call
FROM partials p JOIN turns t ON t.id = p.turn WHERE t.ended_at IS NOT NULL
UNION ALL
SELECT 'waiting turn without an open question: ' || t.id
FROM turns t WHERE t.state = 'waiting'
 AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn = t.id AND q.state = 'open')
UNION ALL
SELECT 'turn of a generation its session never had: ' || t.id
FROM turns t JOIN sessions s ON s.id = t.session WHERE t.generation > s.generation
UNION ALL
SELECT 'open turn of an ended session: ' || t.id
FROM turns t JOIN sessions s ON s.id = t.session WHERE t.ended_at IS NULL AND s.ended_at IS NOT NULL
UNION ALL
SELECT 'open turn that is not its session''s last: ' || t.id
FROM turns t JOIN sessions s ON s.id = t.session WHERE t.ended_at IS NULL AND s.last_turn IS NOT t.id
UNION ALL
SELECT 'cause not consumed by its turn: ' || t.id
FROM turns t JOIN inbox i ON i.position = t.cause WHERE i.turn IS NOT t.id
UNION ALL
SELECT 'gap in the outbox of ' || chat FROM outbox GROUP BY chat HAVING max(number) <> count(*)
UNION ALL
SELECT 'outbox counter of ' || c.address || ' is wrong' FROM chats c
WHERE c.last_number <> (SELECT coalesce(max(number), 0) FROM outbox o WHERE o.chat = c.address)
UNION ALL
SELECT 'gap in the transcript of ' || e.session FROM entries e GROUP BY e.session HAVING max(seq) <> count(*)
UNION ALL
SELECT 'transcript counter of ' || s.id || ' is wrong' FROM sessions s JOIN turns t ON t.id = s.last_turn
WHERE t.last_seq <> (SELECT coalesce(max(seq), 0) FROM entries e WHERE e.session = s.id)
UNION ALL
SELECT 'turn is owned by an unknown process run: ' || t.id
FROM turns t WHERE t.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = t.owner)
UNION ALL
SELECT 'part is sent by an unknown process run: ' || o.id
FROM outbox o WHERE o.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = o.owner)
UNION ALL
SELECT 'wake-up that outlived its conversation: ' || i.position
FROM inbox i WHERE i.state = 'waiting' AND i.kind <> 'command' AND i.incarnation IS NOT NULL
 AND i.incarnation IS NOT (SELECT incarnation FROM sessions s WHERE s.key = i.key AND s.ended_at IS NULL)
UNION ALL
SELECT 'conversation is ready and should not be, or the other way round: ' || c.key
FROM conversations c
LEFT JOIN sessions s ON s.key = c.key AND s.ended_at IS NULL
LEFT JOIN turns t ON t.id = s.last_turn AND t.ended_at IS NULL
WHERE c.fault IS NULL AND ((c.ready_at IS NOT NULL) <> (c.held_at IS NULL AND (
    coalesce(t.state = 'queued', 0) OR (t.state IS NULL AND EXISTS (
    SELECT 1 FROM inbox i WHERE i.key = c.key AND i.state = 'waiting' AND i.kind <> 'command'
      AND NOT EXISTS (SELECT 1 FROM inbox o WHERE o.state = 'waiting' AND o.kind = 'command'
                      AND o.position < i.position AND o.key = i.key)))))
   OR (c.ready_at IS NOT NULL AND c.resume <> coalesce(t.state = 'queued' AND t.interruptions > t.noted, 0)))
UNION ALL
SELECT 'conversation could not be worked on: ' || key || ' (' || fault || ')' FROM conversations WHERE fault IS NOT NULL
UNION ALL
SELECT 'chat is due and should not be, or the other way round: ' || c.address
FROM chats c
WHERE c.send_at IS NOT (
    SELECT CASE WHEN NOT total(n.state = 'sending')
           THEN max(min(CASE WHEN n.state = 'pending' THEN n.not_before END), c.throttled_until) END
    FROM (SELECT * FROM (SELECT o.state, o.not_before FROM outbox o
                         WHERE o.chat = c.address AND o.settled_at IS NULL AND o.aside_at IS NULL
                         ORDER BY o.number LIMIT 1)
          UNION ALL
          SELECT a.state, a.not_before FROM outbox a
          WHERE a.chat = c.address AND a.settled_at IS NULL AND a.aside_at IS NOT NULL) AS n)

-- name: unreadable_fields
-- Values that count as absent when they are read, and unknown states. Lists of words come as ',one,two,'.
SELECT 'unreadable state of turn ' || id FROM turns WHERE instr(:turn, ',' || state || ',') = 0
UNION ALL
SELECT 'unreadable state of call ' || turn || '/' || id FROM tool_calls WHERE instr(:call, ',' || state || ',') = 0
UNION ALL
SELECT 'unreadable state of delivery ' || id FROM outbox WHERE instr(:delivery, ',' || state || ',') = 0
UNION ALL
SELECT 'unreadable state of inbox row ' || position FROM inbox WHERE instr(:inbox, ',' || state || ',') = 0
UNION ALL
SELECT 'unreadable state of question ' || id FROM questions WHERE instr(:question, ',' || state || ',') = 0
UNION ALL
SELECT 'unreadable state of process ' || id FROM processes WHERE instr(:process, ',' || state || ',') = 0
UNION ALL
SELECT 'unreadable state of the goal of ' || session FROM goals WHERE instr(:goal, ',' || state || ',') = 0
UNION ALL
SELECT 'unreadable word on turn ' || id FROM turns
WHERE instr(:tail, ',' || tail || ',') = 0 OR instr(:stop, ',' || stop || ',') = 0
UNION ALL
SELECT 'unreadable word on session ' || id FROM sessions WHERE instr(:began, ',' || began || ',') = 0
UNION ALL
SELECT 'unreadable word on chat ' || address FROM chats
WHERE instr(:busy, ',' || busy || ',') = 0 OR instr(:on_interruption, ',' || on_interruption || ',') = 0
UNION ALL
SELECT 'unreadable word on instance ' || id FROM instances WHERE instr(:stopped, ',' || stopped || ',') = 0
UNION ALL
SELECT 'unreadable time on turn ' || id FROM turns
WHERE progress_at NOT BETWEEN 0 AND :latest OR interrupted_at NOT BETWEEN 0 AND :latest
UNION ALL
SELECT 'unreadable time on session ' || id FROM sessions WHERE completed_at NOT BETWEEN 0 AND :latest
UNION ALL
SELECT 'unreadable time on inbox row ' || position FROM inbox WHERE sent_at NOT BETWEEN 0 AND :latest
UNION ALL
SELECT 'unreadable message in inbox row ' || position FROM inbox WHERE body IS NOT NULL AND NOT json_valid(body)
UNION ALL
SELECT 'unreadable body of entry ' || session || '/' || seq FROM entries WHERE body IS NOT NULL AND NOT json_valid(body)
