-- name: keep_partial
-- Replaces the earlier partial; does nothing for a call that has its result.
INSERT INTO partials (turn, call, generation, text, at)
SELECT :turn, :call, :generation, :text, :now
WHERE :call = '' OR EXISTS (SELECT 1 FROM tool_calls WHERE turn = :turn AND id = :call AND settled_at IS NULL)
ON CONFLICT (turn, call) DO UPDATE SET generation = excluded.generation, text = excluded.text, at = excluded.at

-- name: partials_of_turn
SELECT text, call, generation FROM partials WHERE turn = :turn ORDER BY call

-- name: cut_replies
SELECT turn, text FROM partials WHERE call = '' AND turn IN (SELECT value FROM json_each(:turns))
