-- name: search_entries
-- Among the newest entries of a conversation, whatever its length: what holds every pattern and can still be seen. What was
-- forgotten has no body, what was taken back is covered by an undo, and what an earlier search found is no finding.
SELECT e.session, e.seq, e.turn, e.at, e.kind, e.call, e.count, e.body
FROM (SELECT n.session, n.seq, n.turn, n.at, n.kind, n.call, n.count, n.body
      FROM sessions s CROSS JOIN entries n ON n.session = s.id
      WHERE s.key = :key ORDER BY s.id DESC, n.seq DESC LIMIT :within) e
WHERE e.body IS NOT NULL AND e.kind IN ('said', 'replied', 'returned') AND e.turn <> :but
  AND NOT EXISTS (SELECT 1 FROM json_each(:patterns) p WHERE e.body NOT LIKE p.value ESCAPE '\')
  AND NOT EXISTS (SELECT 1 FROM entries u
                  WHERE u.session = e.session AND u.seq > e.seq AND u.kind = 'undone'
                    AND e.seq BETWEEN json_extract(u.body, '$.first') AND json_extract(u.body, '$.last'))
  AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.turn = e.turn AND c.id = e.call AND c.name = 'history_search')
LIMIT :limit
