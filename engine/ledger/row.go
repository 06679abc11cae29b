package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// columns of a row, in the order of scan.targets.
const columns = `key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks, attempt, excluded, state, system_id, since_ms, token`

// scan is a row on its way out of the database.
type scan struct {
	row             engine.Row
	disks, excluded string
	sinceMS         int64
}

func (s *scan) targets() []any {
	r := &s.row
	return []any{
		&r.Key, &r.Name, &r.HostKey, &r.Zone, &r.Group, &r.Need.Cores, &r.Need.MemoryMiB, &r.Need.HugePagesMiB, &s.disks,
		&r.Attempt, &s.excluded, &r.State, &r.SystemID, &s.sinceMS, &r.Token,
	}
}

func (s *scan) done() (engine.Row, error) {
	s.row.Since = time.UnixMilli(s.sinceMS).UTC()
	if err := decode(s.disks, &s.row.Need.DiskBytes); err != nil {
		return engine.Row{}, fmt.Errorf("the disks of %s in the ledger make no sense: %w", s.row.Key, err)
	}
	if err := decode(s.excluded, &s.row.Excluded); err != nil {
		return engine.Row{}, fmt.Errorf("the excluded hosts of %s in the ledger make no sense: %w", s.row.Key, err)
	}
	return s.row, nil
}

// decode leaves what is empty nil.
func decode(text string, into any) error {
	if text == "{}" || text == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// object writes pools and bytes as JSON.
func object(pools map[string]int64) string {
	if len(pools) == 0 {
		return "{}"
	}
	return encode(pools)
}

// list writes a list as JSON.
func list[T any](items []T) string {
	if len(items) == 0 {
		return "[]"
	}
	return encode(items)
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // numbers and strings can always be written
	}
	return string(text)
}
