package assembly_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestNamedHostElsewhere: a host that is named is not taken where its zone, pool or
// tags are others than those that are asked for, and each of them is said.
func TestNamedHostElsewhere(t *testing.T) {
	cases := map[string]struct {
		reason string
		where  engine.Placement
		says   [][]string // one list an error; none: the VM is made
	}{
		"Suits": {"It is all that is asked for.", engine.Placement{Zone: "az1", Pool: "vms", Tags: []string{"gpu", "nvme"}}, nil},
		"Zone":  {"It would be made in the host's zone.", engine.Placement{Zone: "az2"}, [][]string{{"lxd1", "zone az1", "zone az2"}}},
		"Pool":  {"It would be made on a host of another pool.", engine.Placement{Pool: "default"}, [][]string{{"lxd1", "pool vms", "pool default"}}},
		"Tags":  {"Those that are missing are told.", engine.Placement{Tags: []string{"gpu", "fast", "big"}}, [][]string{{"lxd1", "fast, big is wanted"}}},
		"All": {"One look tells all.", engine.Placement{Zone: "az2", Pool: "default", Tags: []string{"fast"}},
			[][]string{{"zone az2"}, {"pool default"}, {"fast"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := world()
				m.Zones, m.Pools, m.Tags = append(m.Zones, "az2"), append(m.Pools, "vms"), append(m.Tags, "gpu", "nvme", "fast", "big")
				m.Hosts[0].Zone, m.Hosts[0].Pool, m.Hosts[0].Tags = "az1", "vms", []string{"nvme", "gpu"}
				r := inMemoryOf(t, m)
				p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				spec := smallVM("web", tc.where)
				spec.Host = m.Hosts[0].Name
				vm, err := p.applyVM(spec)
				if len(tc.says) == 0 {
					if err != nil || vm.HostName != spec.Host || vm.Zone != "az1" {
						t.Errorf("%s\nit is on %q in %q, %v", tc.reason, vm.HostName, vm.Zone, err)
					}
					return
				}
				wantEach(t, err, tc.says)
				if n := len(r.sim.Instances()); n != 0 {
					t.Errorf("%s\n%d VMs were made all the same", tc.reason, n)
				}
			})
		})
	}
}

// wantEach wants one *SpecError of vm_host with a way out for each list of words.
func wantEach(t *testing.T, err error, says [][]string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was made")
	}
	all := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		all = joined.Unwrap()
	}
	if len(all) != len(says) {
		t.Fatalf("%d errors, want %d: %v", len(all), len(says), err)
	}
	for n, one := range all {
		var bad *engine.SpecError
		if !errors.As(one, &bad) || bad.Field.String() != "vm_host" || bad.Hint == "" {
			t.Errorf("want an error about vm_host with a way out, got %v", one)
		}
		for _, word := range says[n] {
			if !strings.Contains(one.Error(), word) {
				t.Errorf("%q is not in: %v", word, one)
			}
		}
	}
}
