package assembly_test

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

func TestSubnetOf(t *testing.T) {
	t.Parallel()
	m := sim.Model{Subnets: []sim.SubnetModel{
		{Name: "wide", CIDR: "10.77.0.0/16"}, {Name: "narrow", CIDR: "10.77.3.0/24"}, {Name: "other", CIDR: "10.78.0.0/24"},
	}}
	p := overHTTP(t, m).start(t, ledger.NewMemory(nil), 0, breakage{})
	cases := map[string]struct{ reason, ip, want string }{
		"One":     {"It lies in one.", "10.78.0.5", "other"},
		"Wide":    {"It lies beside the narrow one.", "10.77.4.5", "wide"},
		"Narrow":  {"It lies in both, and the narrow one is meant.", "10.77.3.5", "narrow"},
		"Outside": {"It lies in none.", "192.0.2.5", ""},
		"V6":      {"Nor does that.", "2001:db8::5", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := p.engine.SubnetOf(t.Context(), netip.MustParseAddr(tc.ip))
			var bad *engine.SpecError
			if got.Name != tc.want || errors.As(err, &bad) != (tc.want == "") {
				t.Errorf("%s\ngot %q, %v; want %q", tc.reason, got.Name, err, tc.want)
			}
			if tc.want == "" && (!errors.Is(err, engine.ErrNotFound) || bad.Field.String() != "ip" || bad.Hint == "") {
				t.Errorf("%s\ngot %#v", tc.reason, err)
			}
		})
	}
}

// worldWithDarkSubnet is the world with a second subnet, to which the VM host is attached, too.
func worldWithDarkSubnet() sim.Model {
	m := world()
	m.Subnets = append(m.Subnets, sim.SubnetModel{Name: "dark", CIDR: "10.78.0.0/24"})
	m.Hosts[0].Subnets = nil // all
	return m
}

// vmSpecOnDark is a VM with an interface on each subnet.
func vmSpecOnDark() engine.VMSpec {
	spec := webVMSpec()
	spec.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "lan"}, {Name: "side", Subnet: "dark"}}
	return spec
}

// TestDetachedSubnet: an operator detaches the host from a subnet just after it was read. MAAS refuses
// the VM without a word about the interface, and the error names it.
func TestDetachedSubnet(t *testing.T) {
	m := worldWithDarkSubnet()
	synctest.Test(t, func(t *testing.T) {
		r := inMemoryOf(t, m)
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		onDark := func(name string) engine.VMSpec {
			spec := vmSpecOnDark()
			spec.Name = name
			return spec
		}
		if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, onDark("web-1"))); err != nil {
			t.Fatal(err)
		}
		for _, n := range r.nics(t, "lxd1") {
			if len(n.Links) > 0 && n.Links[0].Subnet.CIDR == "10.78.0.0/24" {
				r.edit(t, "lxd1", sim.MachineEdit{StatusName: new("Ready")})
				r.call(t, "POST", "nodes/"+r.machine(t, "lxd1").SystemID+"/interfaces/"+strconv.Itoa(n.ID)+"/?op=disconnect", nil)
			}
		}
		_, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/web-2", Name: "web-2"}, onDark("web-2")))
		bad, ok := errors.AsType[*engine.SpecError](err)
		if !ok || bad.Field.String() != "interfaces.side.subnet" || !strings.Contains(bad.Message, "not attached to subnet dark (10.78.0.0/24)") {
			t.Errorf("got %v", err)
		}
		if n := r.sim.Journal().Count("POST vm-hosts/{id}/ compose"); n != 2 {
			t.Errorf("MAAS was asked %d times to compose, want 2", n)
		}
	})
}

// TestUnlinkedSubnet: an interface of the host is on the VLAN of a subnet, and MAAS lists no link to it.
// MAAS may know more, so it is asked to make the VM there.
func TestUnlinkedSubnet(t *testing.T) {
	m := worldWithDarkSubnet()
	synctest.Test(t, func(t *testing.T) {
		r := inMemoryOf(t, m)
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		unlinked := 0
		r.edit(t, "lxd1", sim.MachineEdit{StatusName: new("Ready")})
		for _, n := range r.nics(t, "lxd1") {
			if len(n.Links) > 0 && n.Links[0].Subnet.CIDR == "10.78.0.0/24" {
				r.call(t, "POST", "nodes/"+r.machine(t, "lxd1").SystemID+"/interfaces/"+strconv.Itoa(n.ID)+"/?op=unlink_subnet", url.Values{"id": {strconv.Itoa(n.Links[0].ID)}})
				unlinked++
			}
		}
		if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, vmSpecOnDark())); err != nil || unlinked == 0 {
			t.Errorf("%d links were removed: %v", unlinked, err)
		}
	})
}
