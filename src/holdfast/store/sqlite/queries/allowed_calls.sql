-- name: add_allowed_call
-- The rule as its card said it, for the chat where the work runs. The same rule again changes nothing.
INSERT INTO allowed_calls (chat, tool, agent, call_hash, prefix, arguments, session, question, allowed_by, allowed_at)
SELECT s.chat, c.name, json_extract(q.offers, '$.agent'), q.call_hash, json_extract(q.offers, '$.prefix'), c.arguments,
       s.id, q.id, :person, :now
FROM questions q JOIN sessions s ON s.id = q.session JOIN tool_calls c ON c.turn = q.turn AND c.id = q.call
WHERE q.id = :question
ON CONFLICT (chat, tool, agent, call_hash) WHERE revoked_at IS NULL DO NOTHING
RETURNING id

-- name: allowed_calls_of
SELECT id, chat, tool, agent, call_hash, prefix, arguments, allowed_by, allowed_at FROM allowed_calls
WHERE chat = :chat AND revoked_at IS NULL ORDER BY id LIMIT :limit

-- name: allowed_calls
SELECT id, chat, tool, agent, call_hash, prefix, arguments, allowed_by, allowed_at FROM allowed_calls
WHERE revoked_at IS NULL ORDER BY id LIMIT :limit

-- name: allowed_call_in_force
-- Checked in the commit that starts the call.
SELECT r.allowed_at FROM allowed_calls r JOIN sessions s ON s.chat = r.chat
JOIN turns t ON t.session = s.id JOIN tool_calls c ON c.turn = t.id AND c.name = r.tool
WHERE r.id = :rule AND r.revoked_at IS NULL AND t.id = :turn AND c.id = :call

-- name: revoke_allowed_call
UPDATE allowed_calls SET revoked_at = :now, revoked_by = :by
WHERE id = :id AND revoked_at IS NULL AND (:chat IS NULL OR chat = :chat)

-- name: state_of_allowed_call
SELECT CASE WHEN revoked_at IS NOT NULL THEN 'revoked' ELSE 'of another chat' END FROM allowed_calls WHERE id = :id
