-- name: add_blob
INSERT INTO blobs (digest, size, media_type, stored_at) VALUES (:digest, :size, :media_type, :now)
ON CONFLICT (digest) DO NOTHING

-- name: blob
SELECT digest, size, media_type, stored_at FROM blobs WHERE digest = :digest
