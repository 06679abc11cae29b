package lxd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// addCopyWithMAC copies the only instance, as `lxc copy` does: the copy keeps the MAC.
func (w *composeWorld) addCopyWithMAC(t *testing.T, host, name string) {
	t.Helper()
	i := sim.Instance{Host: host, Project: "maas", Name: name, MACs: w.sim.Instances()[0].MACs}
	if err := w.sim.AddInstance(i); err != nil {
		t.Fatal(err)
	}
}

// TestDecomposeCopied: a copy has the MAC of its VM, but never counts as the VM.
func TestDecomposeCopied(t *testing.T) {
	t.Parallel()
	gone := func(t *testing.T, w *composeWorld) {
		if err := w.sim.RemoveInstance("h2", "maas", "web1"); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason         string
		host, copyName string
		after          func(*testing.T, *composeWorld)
		want           string // kinds of the error
		left           []string
	}{
		"OtherHost": {"The copy is on the host that is looked at first.", "h1", "web1-backup", nil, "", []string{"instance web1-backup on h1"}},
		"SameName":  {"The copy has its name, too.", "h1", "web1", nil, "", []string{"instance web1 on h1"}},
		"SameHost":  {"The copy is first in the order of names.", "h2", "backup", nil, "", []string{"instance backup on h2"}},
		"Silent": {"Only the copy can be seen.", "h1", "web1", func(t *testing.T, w *composeWorld) { w.setUnreachable(t, "h2") },
			"ErrUnavailable, HostUnavailable", []string{"instance web1 on h1", "instance web1 on h2", "machine web1"}},
		"Gone": {"What is left is not the VM of that name.", "h1", "web1-backup", gone,
			"ErrConflict", []string{"instance web1-backup on h1", "machine web1"}},
		"GoneSameHost": {"It may be the VM under another name, or not.", "h2", "web1-backup", gone,
			"ErrConflict", []string{"instance web1-backup on h2", "machine web1"}},
	}
	for name, tc := range cases {
		for _, who := range []string{"maker", "newcomer", "onlooker"} {
			t.Run(name+"/"+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 2)
				id, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host02"}, newRootOnlyComposition("web1"))
				if err != nil {
					t.Fatal(err)
				}
				w.addCopyWithMAC(t, tc.host, tc.copyName)
				if tc.after != nil {
					tc.after(t, w)
				}
				c := w.composer
				if who != "maker" {
					c = w.newComposer()
				}
				if who != "newcomer" {
					c.cache.expireAll(c.Now())
					if _, err := c.Hosts(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				err = c.Decompose(t.Context(), id)
				if errorKinds(err) != tc.want {
					t.Errorf("%s\ngot %q: %v, want %q", tc.reason, errorKinds(err), err, tc.want)
				}
				if tc.want == "ErrConflict" && !strings.Contains(shownText(err), "web1-backup of project maas on host "+tc.host) {
					t.Errorf("it does not name the copy: %s", shownText(err))
				}
				if diff := cmp.Diff(tc.left, w.listObjects()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// TestCompleteCopied shows a VM on its own host, not on the host of its copy.
func TestCompleteCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	id, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host02"}, newRootOnlyComposition("web1"))
	if err != nil {
		t.Fatal(err)
	}
	w.addCopyWithMAC(t, "h1", "web1-backup")
	m, err := w.maas.Machines.Machine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Composer{w.composer, w.newComposer()} {
		if got := c.CompleteMachine(t.Context(), m); got.HostName != "h2" || got.Cores != 2 {
			t.Errorf("it is shown on %s with %d cores", got.HostName, got.Cores)
		}
	}
}

// TestResizeCopied resizes the VM, and not the copy.
func TestResizeCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	comp := newRootOnlyComposition("web1")
	host := engine.VMHost{MachineID: "host02"}
	id, err := w.composer.Compose(t.Context(), host, comp)
	if err != nil {
		t.Fatal(err)
	}
	w.addCopyWithMAC(t, "h1", "web1")
	c := w.newComposer()
	if _, err := c.Hosts(t.Context()); err != nil {
		t.Fatal(err)
	}
	comp.Cores = 4
	if err := c.Resize(t.Context(), host, id, comp); err != nil {
		t.Error(err)
	}
	all := w.sim.Instances()
	if !slices.ContainsFunc(all, func(i sim.Instance) bool { return i.Host == "h2" && i.Cores == 4 }) {
		t.Errorf("there is %+v", all)
	}
}
