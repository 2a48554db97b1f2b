-- name: add_blob
INSERT INTO blobs (digest, size, media_type, stored_at, brought)
VALUES (:digest, :size, :media_type, :now, (SELECT coalesce(max(position), 0) FROM inbox))

-- name: bring_blob
UPDATE blobs SET brought = (SELECT coalesce(max(position), 0) FROM inbox) WHERE digest = :digest
RETURNING digest, size, media_type, stored_at

-- name: blob
SELECT digest, size, media_type, stored_at FROM blobs WHERE digest = :digest
