package attempt

import (
	"encoding/json"
	"fmt"
	"time"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
)

// record is a row of the ledger as AttemptAnnotation holds it.
type record struct {
	Region   string      `json:"region"`
	Name     string      `json:"name"`
	Host     string      `json:"host"`
	Zone     string      `json:"zone,omitempty"`
	Group    string      `json:"group,omitempty"`
	Need     engine.Need `json:"need"`
	Attempt  int         `json:"attempt"`
	Excluded []string    `json:"excluded,omitempty"`
	SystemID string      `json:"systemID,omitempty"`
	Since    time.Time   `json:"since"`
	Token    string      `json:"token"`
}

// newRecord returns the record of a row.
func newRecord(region string, row engine.Row) record {
	return record{
		Region: region, Name: row.Name, Host: row.HostKey, Zone: row.Zone, Group: row.Group, Need: row.Need,
		Attempt: row.Attempt, Excluded: row.Excluded, SystemID: row.SystemID, Since: row.Since, Token: row.Token,
	}
}

func (r record) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and strings can always be marshalled
	}
	return string(text)
}

// parseRecord reads the annotation. It returns false for anything that is not a
// record.
func parseRecord(text string) (record, bool) {
	var r record
	if text == "" || text == ownership.NoAttempt || json.Unmarshal([]byte(text), &r) != nil {
		return record{}, false
	}
	need := r.Need
	sound := need.Cores >= 0 && need.MemoryMiB >= 0 && need.HugePagesMiB >= 0
	for _, bytes := range need.DiskBytes {
		sound = sound && bytes >= 0
	}
	return r, sound && r.Host != "" && r.Attempt > 0 && r.Token != ""
}

// isVM reports whether an object has a key by which the engine may have made a
// VM.
func isVM(m *infrav1.MaasMachine) bool {
	return m.Annotations[ownership.KeyAnnotation] != "" && m.Annotations[ownership.KindAnnotation] == ownership.KindVM
}

// isUnrecorded reports whether a VM may have been begun without a record. That
// is so where a manager that kept its rows elsewhere has claimed the object.
// Once the VM has a system id, MAAS shows the rest.
func isUnrecorded(m *infrav1.MaasMachine) bool {
	text := m.Annotations[ownership.AttemptAnnotation]
	_, ok := parseRecord(text)
	return isVM(m) && !ok && text != ownership.NoAttempt && ownership.SystemIDOf(m) == ""
}

// rowOf returns the row of an object, if it has one. An attempt without a
// record counts as begun at the given moment, on an unknown host.
func rowOf(m *infrav1.MaasMachine, unrecordedSince time.Time) (row engine.Row, ok bool) {
	key := engine.Key(m.Annotations[ownership.KeyAnnotation])
	r, recorded := parseRecord(m.Annotations[ownership.AttemptAnnotation])
	switch {
	case recorded && isVM(m):
		row = engine.Row{
			Key: key, Name: r.Name, HostKey: r.Host, Zone: r.Zone, Group: r.Group, Need: r.Need,
			Attempt: r.Attempt, Excluded: r.Excluded, SystemID: r.SystemID, Since: r.Since, Token: r.Token,
		}
	case isUnrecorded(m):
		held := ownership.Record{MaasMachine: m}
		row = engine.Row{Key: key, Name: held.VMName(), Attempt: 1, Since: unrecordedSince}
	default:
		return engine.Row{}, false
	}
	if row.SystemID == "" && (&ownership.Record{MaasMachine: m}).IsProvisioned() {
		row.SystemID = ownership.SystemIDOf(m) // the manager was killed before it recorded the id
	}
	switch {
	case !m.DeletionTimestamp.IsZero():
		row.State = engine.RowLeaving
		if row.SystemID != "" {
			row.Since = m.DeletionTimestamp.Time
		}
	case row.SystemID != "":
		row.State = engine.RowBound
	default:
		row.State = engine.RowPending
	}
	return row, true
}

// notLeadingError says why a manager begins nothing.
func notLeadingError(why string) error {
	return fmt.Errorf("this manager begins no new VM: %s: %w", why, engine.ErrBusy)
}
