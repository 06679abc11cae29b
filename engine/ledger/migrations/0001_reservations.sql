-- The point in the ledger's history that an inventory is tagged with. Whoever
-- creates a ledger anew gets another generation.
CREATE TABLE tag (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  generation TEXT    NOT NULL,
  sequence   INTEGER NOT NULL
);
INSERT INTO tag (id, generation, sequence) VALUES (1, lower(hex(randomblob(8))), 0);

CREATE TABLE reservations (
  region       TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  host_id      INTEGER NOT NULL,
  zone         TEXT    NOT NULL,
  peer_group   TEXT    NOT NULL,
  cores        INTEGER NOT NULL CHECK (cores >= 0),
  memory_mib   INTEGER NOT NULL CHECK (memory_mib >= 0),
  disks        TEXT    NOT NULL, -- {"pool": bytes}
  attempt      INTEGER NOT NULL,
  excluded     TEXT    NOT NULL, -- [host_id]
  state        TEXT    NOT NULL CHECK (state IN ('pending', 'bound', 'leaving')),
  system_id    TEXT    NOT NULL CHECK (state <> 'bound' OR system_id <> ''),
  since_ms     INTEGER NOT NULL,
  -- Made anew by each call that places or moves: tells a caller whose row it is.
  token        TEXT    NOT NULL,
  -- The first sequence whose inventory shows the VM. No inventory shows one
  -- that is pending or leaving: then it is the largest integer.
  shown_from   INTEGER NOT NULL,
  PRIMARY KEY (region, key)
) WITHOUT ROWID;

CREATE INDEX reservations_shown ON reservations (region, shown_from);
CREATE INDEX reservations_peers ON reservations (region, peer_group, zone, host_id, state) WHERE peer_group <> '';

CREATE TRIGGER reservations_inserted AFTER INSERT ON reservations WHEN NEW.state = 'bound' BEGIN
  UPDATE tag SET sequence = sequence + 1;
END;
CREATE TRIGGER reservations_updated AFTER UPDATE ON reservations WHEN NEW.state <> 'pending' BEGIN
  UPDATE tag SET sequence = sequence + 1;
END;
CREATE TRIGGER reservations_deleted AFTER DELETE ON reservations BEGIN
  UPDATE tag SET sequence = sequence + 1;
END;
