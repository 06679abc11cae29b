package inplace

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/engine"
)

// TestFormerSettings changes a machine, lets somebody else change it, and puts back what it had.
func TestFormerSettings(t *testing.T) {
	t.Parallel()
	taken := engine.Machine{Hostname: "node1", Zone: "az1", Pool: "default", Domain: "maas", Description: "rack 7\nfixed by maaslxd: 10.0.0.5", Tags: []string{"metal"}}
	text := func(s string) *string { return &s }
	cases := map[string]struct {
		reason  string
		changes []engine.MachineUpdate
		between func(*engine.Machine) // after the first change
		others  func(*engine.Machine)
		want    engine.MachineUpdate
	}{
		"Nothing":  {reason: "What was not changed is not put back."},
		"Hostname": {reason: "The site knows it by that name.", changes: []engine.MachineUpdate{{Hostname: text("db-1")}}, want: engine.MachineUpdate{Hostname: text("node1")}},
		"Twice":    {reason: "What it had at first counts.", changes: []engine.MachineUpdate{{Zone: text("az2")}, {Zone: text("az3")}}, want: engine.MachineUpdate{Zone: text("az1")}},
		"Back":     {reason: "It has it already.", changes: []engine.MachineUpdate{{Zone: text("az2")}, {Zone: text("az1")}}},
		"Others": {
			reason: "Somebody has moved it since, and means it.", changes: []engine.MachineUpdate{{Zone: text("az2"), Pool: text("lab")}},
			others: func(m *engine.Machine) { m.Zone = "az3" }, want: engine.MachineUpdate{Pool: text("default")},
		},
		"Domain": {reason: "So is the domain.", changes: []engine.MachineUpdate{{Domain: text("prod")}}, want: engine.MachineUpdate{Domain: text("maas")}},
		"OthersThenUs": {
			reason: "Somebody moved it to az3 and means it, and we took it back until the release.", changes: []engine.MachineUpdate{{Zone: text("az2")}, {Zone: text("az2")}},
			between: func(m *engine.Machine) { m.Zone = "az3" }, want: engine.MachineUpdate{Zone: text("az3")},
		},
		"Parked": {
			reason: "Its parking name is nobody's wish.", changes: []engine.MachineUpdate{{Hostname: text("db-1")}, {Hostname: text("db-2")}},
			between: func(m *engine.Machine) { m.Hostname = temporaryName(*m) }, want: engine.MachineUpdate{Hostname: text("node1")},
		},
		"CutOff": {
			reason: "A run died after it had noted a second change, and before it made it.", changes: []engine.MachineUpdate{{Zone: text("az2")}, {Zone: text("az3")}},
			others: func(m *engine.Machine) { m.Zone = "az2" }, want: engine.MachineUpdate{Zone: text("az1")},
		},
		"Description": {
			reason: "Our own lines stay.", changes: []engine.MachineUpdate{{Description: text("db of team a\nfixed by maaslxd: 10.0.0.5")}},
			want: engine.MachineUpdate{Description: text("rack 7\nfixed by maaslxd: 10.0.0.5")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := taken
			for i, u := range tc.changes {
				if i == 1 && tc.between != nil {
					tc.between(&m)
				}
				note, err := FormerSettingsOf(m).WithChange(m, u, nil, nil).OwnerData()
				if err != nil {
					t.Fatal(err)
				}
				m.OwnerData = note
				for _, f := range []struct{ field, to *string }{{&m.Hostname, u.Hostname}, {&m.Zone, u.Zone}, {&m.Pool, u.Pool}, {&m.Domain, u.Domain}, {&m.Description, u.Description}} {
					if f.to != nil {
						*f.field = *f.to
					}
				}
			}
			if tc.others != nil {
				tc.others(&m)
			}
			if diff := cmp.Diff(tc.want, FormerSettingsOf(m).RestoreUpdate(m), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBeforeStaysShort changes a description at every apply, as one does that names a commit.
func TestBeforeStaysShort(t *testing.T) {
	t.Parallel()
	m := engine.Machine{Description: "rack 7"}
	var longest int
	for n := range 50 {
		text := fmt.Sprintf("commit %04d", n)
		note, err := FormerSettingsOf(m).WithChange(m, engine.MachineUpdate{Description: &text}, nil, nil).OwnerData()
		if err != nil {
			t.Fatal(err)
		}
		m.OwnerData, m.Description = note, text
		if n == 1 {
			longest = len(note[formerSettingsData])
		}
	}
	if got := len(m.OwnerData[formerSettingsData]); got != longest {
		t.Errorf("after 50 changes the note has %d bytes, after two it had %d", got, longest)
	}
	if back := FormerSettingsOf(m).RestoreUpdate(m).Description; back == nil || *back != "rack 7" {
		t.Errorf("it would say %v after a release", back)
	}
}

// TestBeforeTags changes the tags of a machine, and lists what a release has to do.
func TestBeforeTags(t *testing.T) {
	t.Parallel()
	type change struct{ added, removed []string }
	cases := map[string]struct {
		reason    string
		changes   []change
		tags, off []string
	}{
		"PutOn":    {reason: "Ours go.", changes: []change{{added: []string{"b", "a"}}}, tags: []string{"a", "b"}},
		"TakenOff": {reason: "What the site had comes back.", changes: []change{{removed: []string{"metal"}}}, off: []string{"metal"}},
		"OursOff":  {reason: "It went already.", changes: []change{{added: []string{"a"}}, {removed: []string{"a"}}}},
		"Again":    {reason: "It is there as at first.", changes: []change{{removed: []string{"metal"}}, {added: []string{"metal"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b FormerSettings
			for _, c := range tc.changes {
				b = b.WithChange(engine.Machine{}, engine.MachineUpdate{}, c.added, c.removed)
			}
			if diff := cmp.Diff(FormerSettings{AddedTags: tc.tags, RemovedTags: tc.off}, b, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWasCalled(t *testing.T) {
	t.Parallel()
	m := engine.Machine{Hostname: "node1", Domain: "maas"}
	name, domain := "db-1", "prod"
	note, err := FormerSettingsOf(m).WithChange(m, engine.MachineUpdate{Hostname: &name, Domain: &domain}, []string{"blue"}, nil).OwnerData()
	if err != nil {
		t.Fatal(err)
	}
	m = engine.Machine{Hostname: name, Domain: domain, OwnerData: note}
	for called, want := range map[string]bool{"node1": true, "node1.maas": true, "node1.prod": false, "db-1": false, "node2": false, "": false} {
		if got := WasCalled(m, called); got != want {
			t.Errorf("%q: got %v", called, got)
		}
	}
	if WasCalled(engine.Machine{Hostname: "node1", Domain: "maas", OwnerData: map[string]string{formerSettingsData: "no JSON"}}, "node2") {
		t.Error("it was never called so")
	}
}
