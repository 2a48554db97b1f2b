-- When a part was first sent of what may have arrived, on the machine's own clock, which nobody sets: for how long a
-- platform may know its key. A part in flight from before is older than anybody can say.
ALTER TABLE outbox ADD COLUMN tried TEXT;
