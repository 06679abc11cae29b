-- Hosts that are being removed or changed: nothing is placed on them. Whoever
-- finds that the time of a close is over takes it away. Only an inventory from
-- after that shows what came of the host, so the floor rises.
CREATE TABLE closed_hosts (
  region   TEXT    NOT NULL,
  host_key TEXT    NOT NULL,
  holder   TEXT    NOT NULL,
  until_ms INTEGER NOT NULL,
  PRIMARY KEY (region, host_key)
) WITHOUT ROWID;

CREATE TRIGGER closed_hosts_deleted AFTER DELETE ON closed_hosts BEGIN
  UPDATE tag SET sequence = sequence + 1, floor = sequence + 1;
END;
