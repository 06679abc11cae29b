-- What of the memory is backed by huge pages of the host.
ALTER TABLE reservations ADD COLUMN huge_pages_mib INTEGER NOT NULL DEFAULT 0 CHECK (huge_pages_mib >= 0);
