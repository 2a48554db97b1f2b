-- name: search_entries
-- The visible entries that fit the pattern, among the newest entries of a conversation of any length. An
-- erased entry has no body, and an undo covers an undone one. Results of earlier searches are left out.
SELECT page.session, page.seq, page.turn, page.at, page.kind, page.call, page.count, page.body
FROM (SELECT n.session, n.seq, n.turn, n.at, n.kind, n.call, n.count, n.body
      FROM sessions s CROSS JOIN entries n ON n.session = s.id
      WHERE s.key = :key ORDER BY s.id DESC, n.seq DESC LIMIT :within) page
WHERE page.body IS NOT NULL AND page.kind IN ('said', 'replied', 'returned') AND page.turn <> :but
  AND page.body LIKE :pattern
  AND NOT EXISTS (SELECT 1 FROM entries u
                  WHERE u.session = page.session AND u.seq > page.seq AND u.kind = 'undone'
                    AND page.seq BETWEEN json_extract(u.body, '$.first') AND json_extract(u.body, '$.last'))
  AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.turn = page.turn AND c.id = page.call AND c.name = 'history_search')
LIMIT :limit
