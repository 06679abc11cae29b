package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// rowColumns are the columns of a row, in the order of scannedRow.scanTargets.
const rowColumns = `key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks, attempt, excluded, state, system_id, since_ms, token`

// scannedRow is a row as the database returns it.
type scannedRow struct {
	row             engine.Row
	disks, excluded string
	sinceMS         int64
}

func (s *scannedRow) scanTargets() []any {
	r := &s.row
	return []any{
		&r.Key, &r.Name, &r.HostKey, &r.Zone, &r.Group, &r.Need.Cores, &r.Need.MemoryMiB, &r.Need.HugePagesMiB, &s.disks,
		&r.Attempt, &s.excluded, &r.State, &r.SystemID, &s.sinceMS, &r.Token,
	}
}

func (s *scannedRow) decodeRow() (engine.Row, error) {
	s.row.Since = time.UnixMilli(s.sinceMS).UTC()
	if err := decodeJSON(s.disks, &s.row.Need.DiskBytes); err != nil {
		return engine.Row{}, fmt.Errorf("the disks of %s in the ledger make no sense: %w", s.row.Key, err)
	}
	if err := decodeJSON(s.excluded, &s.row.Excluded); err != nil {
		return engine.Row{}, fmt.Errorf("the excluded hosts of %s in the ledger make no sense: %w", s.row.Key, err)
	}
	return s.row, nil
}

// decodeJSON decodes a column. An empty value stays nil.
func decodeJSON(text string, into any) error {
	if text == "{}" || text == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// encodePools writes the bytes of each storage pool as JSON.
func encodePools(pools map[string]int64) string {
	if len(pools) == 0 {
		return "{}"
	}
	return encodeJSON(pools)
}

// encodeList writes a list as JSON.
func encodeList[T any](items []T) string {
	if len(items) == 0 {
		return "[]"
	}
	return encodeJSON(items)
}

func encodeJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // numbers and strings can always be marshalled
	}
	return string(text)
}
