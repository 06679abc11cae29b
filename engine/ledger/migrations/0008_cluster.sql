-- The clients of the service, where several nodes have the ledger: each as JSON, by the
-- fingerprint of its certificate.
CREATE TABLE clients (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  note        TEXT NOT NULL
) WITHOUT ROWID;

-- The clocks of the nodes, compared with that of the one that leads: by how much they are
-- ahead, and when they were compared by the leader's.
CREATE TABLE node_clocks (
  node     TEXT    NOT NULL PRIMARY KEY,
  ahead_ms INTEGER NOT NULL,
  at_ms    INTEGER NOT NULL
) WITHOUT ROWID;
