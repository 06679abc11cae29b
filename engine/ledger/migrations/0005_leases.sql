-- Keys that a run is making an object for, with what tells whether it still lives.
CREATE TABLE leases (
  region  TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  holder  TEXT    NOT NULL, -- made anew by each call that takes a lease
  session TEXT    NOT NULL, -- of the process
  machine TEXT    NOT NULL, -- boot and process numbering; empty: not known
  pid     INTEGER NOT NULL,
  started TEXT    NOT NULL, -- the process, as its machine counts
  parent  INTEGER NOT NULL, -- the process that started it, and without which it ends
  parent_started TEXT NOT NULL,
  beat_ms INTEGER NOT NULL,
  PRIMARY KEY (region, key)
) WITHOUT ROWID;
