-- The moment of a turn's last progress on the machine's own clock, as `outbox.tried` has it: in the same run of the
-- machine the age of interrupted work is measured from it, so that a wall clock that jumps ages nothing.
ALTER TABLE turns ADD COLUMN progress_mark TEXT;
