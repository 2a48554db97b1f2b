-- A request names the run of the gateway it was asked of. A stop or restart asked of an earlier run is void; a request
-- written before this column is of an earlier run.
ALTER TABLE requests ADD COLUMN instance TEXT;
