-- Hosts are called by their machines, not by MAAS's numbers of VM hosts. Nothing
-- here tells the machine of a number, so the rows go: what exists gets back by its
-- mark, and a compose that is under way is found by looking, as after any loss.
DROP TABLE reservations;
CREATE TABLE reservations (
  region       TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  host_key     TEXT    NOT NULL,
  zone         TEXT    NOT NULL,
  peer_group   TEXT    NOT NULL,
  cores        INTEGER NOT NULL CHECK (cores >= 0),
  memory_mib   INTEGER NOT NULL CHECK (memory_mib >= 0),
  disks        TEXT    NOT NULL, -- {"pool": bytes}
  attempt      INTEGER NOT NULL,
  excluded     TEXT    NOT NULL, -- [host_key]
  state        TEXT    NOT NULL CHECK (state IN ('pending', 'bound', 'leaving')),
  system_id    TEXT    NOT NULL CHECK (state <> 'bound' OR system_id <> ''),
  since_ms     INTEGER NOT NULL,
  token        TEXT    NOT NULL,
  shown_from   INTEGER NOT NULL,
  PRIMARY KEY (region, key)
) WITHOUT ROWID;

CREATE INDEX reservations_shown ON reservations (region, shown_from);
CREATE INDEX reservations_peers ON reservations (region, peer_group, zone, host_key, state) WHERE peer_group <> '';

CREATE TRIGGER reservations_inserted AFTER INSERT ON reservations WHEN NEW.state = 'bound' BEGIN
  UPDATE tag SET sequence = sequence + 1;
END;
CREATE TRIGGER reservations_updated AFTER UPDATE ON reservations WHEN NEW.state <> 'pending' BEGIN
  UPDATE tag SET sequence = sequence + 1;
END;
CREATE TRIGGER reservations_moved AFTER UPDATE ON reservations
WHEN OLD.system_id = '' AND (NEW.attempt <> OLD.attempt OR NEW.host_key <> OLD.host_key) BEGIN
  UPDATE tag SET sequence = sequence + 1, floor = sequence + 1;
END;
CREATE TRIGGER reservations_deleted AFTER DELETE ON reservations BEGIN
  UPDATE tag SET sequence = sequence + 1, floor = CASE OLD.system_id WHEN '' THEN sequence + 1 ELSE floor END;
END;
