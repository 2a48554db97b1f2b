-- The last message there was when a file was last brought: what is forgotten of messages up to then takes no file
-- along that somebody has brought again since.
ALTER TABLE blobs ADD COLUMN brought INTEGER NOT NULL DEFAULT 0;
