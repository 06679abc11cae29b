-- Inventories from before the floor serve no more. Since they were read, a
-- reservation was given up whose compose may have left an instance behind: only
-- an inventory can still show that one, and none from before does.
ALTER TABLE tag ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER reservations_moved AFTER UPDATE ON reservations
WHEN OLD.system_id = '' AND (NEW.attempt <> OLD.attempt OR NEW.host_id <> OLD.host_id) BEGIN
  UPDATE tag SET sequence = sequence + 1, floor = sequence + 1;
END;

DROP TRIGGER reservations_deleted;
CREATE TRIGGER reservations_deleted AFTER DELETE ON reservations BEGIN
  UPDATE tag SET sequence = sequence + 1, floor = CASE OLD.system_id WHEN '' THEN sequence + 1 ELSE floor END;
END;
