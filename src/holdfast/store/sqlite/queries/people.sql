-- Access: the codes of newcomers, and the grants. Both tables are small: codes are few and are removed in
-- time.

-- name: codes_of
SELECT count(*) FROM pairings WHERE person = :person AND made_at > :since

-- name: open_codes
SELECT count(*) FROM pairings WHERE used_at IS NULL AND expires_at > :now

-- name: add_pairing
INSERT INTO pairings (code_hash, person, chat, made_at, expires_at)
VALUES (:code_hash, :person, :chat, :now, :expires_at) ON CONFLICT (code_hash) DO NOTHING

-- name: pairing
SELECT person, chat, made_at, used_at FROM pairings WHERE code_hash = :code_hash

-- name: use_pairings
UPDATE pairings SET used_at = :now, approved_by = :by WHERE person = :person AND used_at IS NULL

-- name: wrong_codes
SELECT count(*) FROM events WHERE subject = :subject AND what = 'wrong_code' AND at > :since

-- name: add_grant
INSERT INTO grants (scope, subject, granted_by, granted_at) VALUES (:scope, :subject, :by, :now)
ON CONFLICT (scope, subject) DO NOTHING

-- name: revoke
DELETE FROM grants WHERE scope IN ('person', 'chat', 'owner') AND subject = :subject

-- name: grants
SELECT scope, subject, granted_by, granted_at FROM grants WHERE scope IN ('person', 'chat', 'owner')

-- name: asking
SELECT person, chat, max(made_at), max(expires_at) FROM pairings
WHERE used_at IS NULL AND expires_at > :now GROUP BY person ORDER BY 3 DESC, 1 LIMIT :limit

-- name: forget_pairings
DELETE FROM pairings WHERE code_hash IN (SELECT code_hash FROM pairings WHERE expires_at < :before LIMIT :limit)
