package wire

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/quick"

	"github.com/maaslxd/maaslxd/engine"
)

// TestReservationColumns: every field of every candidate arrives, also fields that are added later.
func TestReservationColumns(t *testing.T) {
	t.Parallel()
	arrives := func(r engine.Reservation) bool {
		text, err := json.Marshal(Call{Reservation: ToColumns(r)})
		if err != nil {
			t.Fatal(err)
		}
		var call Call
		if err := json.Unmarshal(text, &call); err != nil {
			t.Fatal(err)
		}
		got, err := call.Reservation.FromColumns()
		if err != nil {
			t.Fatal(err)
		}
		return equalCandidates(got.Candidates, r.Candidates) && equalsWithoutCandidates(got, r)
	}
	if err := quick.Check(arrives, &quick.Config{MaxCount: 50}); err != nil {
		t.Error(err)
	}
	if !arrives(engine.Reservation{Key: "web-1"}) {
		t.Error("without candidates it does not arrive")
	}
}

// equalsWithoutCandidates compares two reservations without their candidates.
func equalsWithoutCandidates(got, want engine.Reservation) bool {
	got.Candidates, want.Candidates = nil, nil
	a, err := json.Marshal(got)
	b, failed := json.Marshal(want)
	return err == nil && failed == nil && string(a) == string(b)
}

// equalCandidates compares candidates. JSON replaces invalid UTF-8, so it compares texts as JSON
// has them.
func equalCandidates(got, want []engine.Candidate) bool {
	texts := [2]string{}
	for n, all := range [][]engine.Candidate{got, want} {
		for _, c := range all {
			if len(c.Free.DiskBytes) == 0 {
				c.Free.DiskBytes = nil
			}
			text, err := json.Marshal(c)
			if err != nil {
				return false
			}
			texts[n] += string(text)
		}
	}
	return texts[0] == texts[1]
}

// TestUnevenColumns: columns of different lengths are refused. Otherwise a candidate could get
// the room of another one.
func TestUnevenColumns(t *testing.T) {
	t.Parallel()
	one := engine.Candidate{HostKey: "h1", Free: engine.Need{DiskBytes: map[string]int64{"default": 1}}}
	two := engine.Candidate{HostKey: "h2", Zone: "az2", Free: engine.Need{Cores: 1, DiskBytes: map[string]int64{"default": 2}}}
	for name, spoil := range map[string]func(*Columns){
		"Hosts": func(c *Columns) { c.HostKeys = append(c.HostKeys, "h3") },
		"Zones": func(c *Columns) { c.Zones = nil },
		"Cores": func(c *Columns) { c.FreeCores = append(c.FreeCores, 1) },
		"Pools": func(c *Columns) { c.FreeDiskBytes["fast"] = nil },
	} {
		r := ToColumns(engine.Reservation{Candidates: []engine.Candidate{one, two}})
		spoil(&r.Columns)
		if _, err := r.FromColumns(); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
