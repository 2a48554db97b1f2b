-- What people were shown of a reply that is being written (`call` is empty) and of the output of a call that runs,
-- as far as it is recorded. The entry that takes its place consumes it, in whichever commit that is.
CREATE TABLE partials (
    turn       TEXT NOT NULL REFERENCES turns (id),
    call       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    text       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (turn, call)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER partials_become_entries AFTER INSERT ON entries
WHEN NEW.kind = 'replied' OR NEW.kind = 'returned'
BEGIN DELETE FROM partials WHERE turn = NEW.turn AND call = coalesce(NEW.call, ''); END;
