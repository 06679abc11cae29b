-- A number that a transaction changes which has nothing else to change.
CREATE TABLE fence (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  count INTEGER NOT NULL
);
INSERT INTO fence (id, count) VALUES (1, 0);
