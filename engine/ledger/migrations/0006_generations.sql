-- The generations of this ledger that are over. ended is the last sequence of a
-- generation: a tag of it with a later one is of another history, of which this file is
-- an older copy.
CREATE TABLE generations (
  name     TEXT    NOT NULL PRIMARY KEY,
  number   INTEGER NOT NULL,
  ended    INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- How many times the ledger was opened before. Each opening begins a generation.
ALTER TABLE tag ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
