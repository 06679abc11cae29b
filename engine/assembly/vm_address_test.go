package assembly_test

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// addressWorld is a MAAS whose subnet has a router and ranges.
func addressWorld() sim.Model {
	m := world()
	m.Subnets = []sim.SubnetModel{{
		Name: "lan", CIDR: "10.77.0.0/24", DHCP: true, Gateway: "10.77.0.254",
		DynamicStart: "10.77.0.200", DynamicEnd: "10.77.0.250", ReservedStart: "10.77.0.100", ReservedEnd: "10.77.0.110",
	}}
	m.Machines = []sim.MachineModel{{Hostname: "db-1", Cores: 4, MemoryMiB: 8192, DiskGB: 100}, {Hostname: "db-2", Cores: 4, MemoryMiB: 8192, DiskGB: 100}}
	return m
}

// inAddresses runs a test in virtual time, with a process that nothing breaks.
func inAddresses(t *testing.T, f func(t *testing.T, r testMAAS, p process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := inMemoryOf(t, addressWorld())
		f(t, r, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
	})
}

// fixedAddressVM is a VM with a fixed address, and how it is called.
func fixedAddressVM(name, ip string) (engine.Ref, engine.VMSpec) {
	spec := webVMSpec()
	spec.Name, spec.Cores, spec.MemoryMiB = name, 1, 1024
	spec.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "lan", IP: netip.MustParseAddr(ip)}}
	return engine.Ref{Key: engine.Key("default/" + name), Name: name}, spec
}

// makeFixed makes a VM with a fixed address.
func (p process) makeFixed(name, ip string) (engine.VM, error) {
	ref, spec := fixedAddressVM(name, ip)
	return engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec))
}

// linkMachine gives a bare machine a fixed address, as an operator does.
func (r testMAAS) linkMachine(t *testing.T, hostname, ip string) {
	t.Helper()
	n := r.nics(t, hostname)[0]
	r.call(t, "POST", fmt.Sprintf("nodes/%s/interfaces/%d/?op=link_subnet", r.machine(t, hostname).SystemID, n.ID),
		url.Values{"mode": {"STATIC"}, "subnet": {"1"}, "ip_address": {ip}, "force": {"true"}})
}

// wantAddressError checks that an error is about an address, says what it is to
// say, and tells a way out.
func wantAddressError(t *testing.T, reason string, err error, says ...string) {
	t.Helper()
	var bad *engine.SpecError
	if !errors.As(err, &bad) || bad.Field.String() != "interfaces.eth0.ip" || bad.Hint == "" || !engine.IsTerminal(err) {
		t.Fatalf("%s\nwant an error about interfaces.eth0.ip with a hint, got %v", reason, err)
	}
	for _, part := range says {
		if !strings.Contains(bad.Error()+" "+bad.Hint, part) {
			t.Errorf("%s\nwant %q in %q, hint %q", reason, part, bad, bad.Hint)
		}
	}
}

// TestFixedAddressIsChecked asks for addresses that a VM cannot have: nothing is
// made for them.
func TestFixedAddressIsChecked(t *testing.T) {
	reserve := func(t *testing.T, r testMAAS, ip string) {
		r.call(t, "POST", "ipaddresses/?op=reserve", url.Values{"ip": {ip}})
	}
	cases := map[string]struct {
		reason string
		ip     string
		before func(*testing.T, testMAAS)
		says   []string
		taken  bool
	}{
		"Elsewhere": {reason: "Not of the subnet.", ip: "10.78.0.5", says: []string{"10.78.0.5 is not in 10.77.0.0/24"}},
		"V6":        {reason: "Not of the subnet's family.", ip: "2001:db8::5", says: []string{"is not in"}},
		"Network":   {reason: "It names the network.", ip: "10.77.0.0", says: []string{"address of the network"}},
		"Broadcast": {reason: "It reaches all.", ip: "10.77.0.255", says: []string{"broadcast"}},
		"Gateway":   {reason: "The router has it.", ip: "10.77.0.254", says: []string{"gateway"}, taken: true},
		"Dynamic":   {reason: "MAAS's DHCP lends it.", ip: "10.77.0.220", says: []string{"10.77.0.200 to 10.77.0.250", " is free"}, taken: true},
		"Reserved":  {reason: "It is kept for something.", ip: "10.77.0.105", says: []string{"10.77.0.100 to 10.77.0.110", "10.77.0.111 is free"}, taken: true},
		"Machine": {
			reason: "A machine has it, which is named.", ip: "10.77.0.42", says: []string{"machine db-1", "10.77.0.43 is free"}, taken: true,
			before: func(t *testing.T, r testMAAS) { r.linkMachine(t, "db-1", "10.77.0.42") },
		},
		"Name": {
			reason: "A name that points to it reserves it.", ip: "10.77.0.42", says: []string{"the DNS name www.maas"}, taken: true,
			before: func(t *testing.T, r testMAAS) {
				r.call(t, "POST", "dnsresources/", url.Values{"fqdn": {"www.maas"}, "ip_addresses": {"10.77.0.42"}})
			},
		},
		"User": {
			reason: "Somebody reserved it, and the next one, too.", ip: "10.77.0.42", says: []string{"the MAAS user admin", "10.77.0.44 is free"}, taken: true,
			before: func(t *testing.T, r testMAAS) { reserve(t, r, "10.77.0.42"); reserve(t, r, "10.77.0.43") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inAddresses(t, func(t *testing.T, r testMAAS, p process) {
				if tc.before != nil {
					tc.before(t, r)
				}
				_, err := p.makeFixed("web-1", tc.ip)
				wantAddressError(t, tc.reason, err, tc.says...)
				if errors.Is(err, engine.ErrConflict) != tc.taken {
					t.Errorf("%s\ngot %v, want a conflict: %v", tc.reason, err, tc.taken)
				}
				if r.countComposes() != 0 {
					t.Errorf("%s\na VM was composed", tc.reason)
				}
			})
		})
	}
}

// TestFixedAddressTwice refuses one address for two interfaces.
func TestFixedAddressTwice(t *testing.T) {
	_, spec := fixedAddressVM("web-1", "10.77.0.42")
	spec.Interfaces = append(spec.Interfaces, engine.Interface{Name: "eth1", Subnet: "lan", IP: spec.Interfaces[0].IP})
	var bad *engine.SpecError
	if err := spec.Validate(); !errors.As(err, &bad) || bad.Field.String() != "interfaces.eth1.ip" {
		t.Errorf("got %v", err)
	}
	spec.Interfaces[0].IP, spec.Interfaces[1].IP = netip.Addr{}, netip.Addr{}
	if err := spec.Validate(); err != nil {
		t.Errorf("no addresses are not the same address: %v", err)
	}
}

// TestFixedAddressOfOne lets two VMs of one apply ask for one address: the
// second is refused before it is made, and gets it once the first is deleted.
func TestFixedAddressOfOne(t *testing.T) {
	inAddresses(t, func(t *testing.T, r testMAAS, p process) {
		vms, errs := make([]engine.VM, 2), make([]error, 2)
		var both sync.WaitGroup
		for n := range 2 {
			both.Go(func() { vms[n], errs[n] = p.makeFixed(fmt.Sprintf("web-%d", n), "10.77.0.42") })
		}
		both.Wait()
		lost := slices.IndexFunc(errs, func(err error) bool { return err != nil })
		if lost < 0 || errs[1-lost] != nil {
			t.Fatalf("want one VM and one error, got %v", errs)
		}
		wantAddressError(t, "Two ask at once.", errs[lost], fmt.Sprintf("VM web-%d, which this run is still making", 1-lost))
		if r.countComposes() != 1 {
			t.Errorf("%d VMs were composed, want 1", r.countComposes())
		}
		loser := fmt.Sprintf("web-%d", lost)
		_, err := p.makeFixed(loser, "10.77.0.42")
		wantAddressError(t, "The first has it by now.", err, fmt.Sprintf("machine web-%d", 1-lost))

		winner, _ := fixedAddressVM(fmt.Sprintf("web-%d", 1-lost), "10.77.0.42")
		winner.SystemID = vms[1-lost].SystemID
		if err := p.delete(winner); err != nil {
			t.Fatal(err)
		}
		vm, err := p.makeFixed(loser, "10.77.0.42")
		if err != nil || !slices.Equal(vm.IPAddresses, []string{"10.77.0.42"}) {
			t.Errorf("after the first was deleted: %v, %v", vm.IPAddresses, err)
		}
	})
}

// TestFixedAddressIsGivenUp: a VM that cannot be made claims nothing.
func TestFixedAddressIsGivenUp(t *testing.T) {
	inAddresses(t, func(t *testing.T, r testMAAS, p process) {
		ref, spec := fixedAddressVM("web-1", "10.77.0.42")
		spec.Cores = 99
		if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec)); err == nil {
			t.Fatal("a VM with 99 cores was made")
		}
		if _, err := p.makeFixed("web-2", "10.77.0.42"); err != nil {
			t.Errorf("the address is still claimed: %v", err)
		}
	})
}

// TestFixedAddressLost: another process links the address between the check and
// the link. The error names who has it; once it is free, the VM that was made
// goes on.
func TestFixedAddressLost(t *testing.T) {
	inAddresses(t, func(t *testing.T, r testMAAS, p process) {
		ref, spec := fixedAddressVM("web-1", "10.77.0.42")
		res, err := p.engine.VMs.Reconcile(t.Context(), ref, spec)
		if err != nil || res.Object.SystemID == "" {
			t.Fatalf("got %+v, %v", res, err)
		}
		r.linkMachine(t, "db-1", "10.77.0.42")
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec))
		wantAddressError(t, "It is gone by now.", err, "machine db-1")
		if m := r.machine(t, "web-1"); m.StatusName != "Ready" || vm.SystemID != m.SystemID {
			t.Errorf("want the VM Ready and returned, got %s, %+v", m.StatusName, vm)
		}
		r.linkMachine(t, "db-1", "10.77.0.43")
		vm, err = engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec))
		if err != nil || !slices.Equal(vm.IPAddresses, []string{"10.77.0.42"}) || r.countComposes() != 1 {
			t.Errorf("got %v, %v after %d composes", vm.IPAddresses, err, r.countComposes())
		}
	})
}

// TestFixedAddressCalls counts the calls for addresses: none without one, and
// one for many that are checked at a time.
func TestFixedAddressCalls(t *testing.T) {
	cases := map[string]struct {
		reason string
		fixed  bool
		looks  int
		links  int
	}{
		"None": {"MAAS assigns them: nothing is to be asked.", false, 0, 0},
		"Many": {"One listing tells for all, and each is linked once.", true, 1, 6},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inAddresses(t, func(t *testing.T, r testMAAS, p process) {
				var all sync.WaitGroup
				for n := range 6 {
					ref, spec := fixedAddressVM(fmt.Sprintf("web-%d", n), fmt.Sprintf("10.77.0.%d", 40+n))
					if !tc.fixed {
						spec.Interfaces[0].IP = netip.Addr{}
					}
					all.Go(func() {
						if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec)); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				journal := r.sim.Journal()
				looks, links := journal.Count("GET subnets/{id}/ reserved_ip_ranges"), journal.Count("POST nodes/{id}/interfaces/{nic}/ link_subnet")
				if looks != tc.looks || links != tc.links || journal.Count("GET subnets/{id}/ ip_addresses") != 0 {
					t.Errorf("%s\n%d looks and %d links, want %d and %d: %+v", tc.reason, looks, links, tc.looks, tc.links, journal.Routes)
				}
			})
		})
	}
}

// TestInterfacesAreLinked makes VMs with interfaces beside the one that they boot from.
// Commissioning leaves those only up, and a deployment gives addresses to linked ones.
func TestInterfacesAreLinked(t *testing.T) {
	const lan, dark = "10.77.0.0/24", "10.88.0.0/24"
	cases := map[string]struct {
		reason  string
		subnets []string // of eth0, eth1, …
		deploy  bool
		links   int
	}{
		"One":       {"MAAS has linked what the VM boots from.", []string{"lan"}, true, 0},
		"Dark":      {"No DHCP shows MAAS the subnet of the second one.", []string{"lan", "dark"}, true, 1},
		"CIDRs":     {"Subnets are called by CIDR, too.", []string{lan, dark}, true, 1},
		"SameTwice": {"MAAS knows the subnet of the second one, and links it without an address.", []string{"lan", "lan"}, true, 1},
		"Ready":     {"What is deployed later is linked already.", []string{"lan", "dark"}, false, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := addressWorld()
				m.Subnets = append(m.Subnets, sim.SubnetModel{Name: "dark", CIDR: dark})
				m.Hosts[0].Subnets = []string{"lan", "dark"}
				r := inMemoryOf(t, m)
				_, spec := fixedAddressVM("web-1", "10.77.0.42")
				spec.Interfaces = nil
				for n, subnet := range tc.subnets {
					spec.Interfaces = append(spec.Interfaces, engine.Interface{Name: fmt.Sprintf("eth%d", n), Subnet: subnet})
				}
				if !tc.deploy {
					spec.Deploy = nil
				}
				vm, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyVM(spec)
				if err != nil {
					t.Fatalf("%s\n%v", tc.reason, err)
				}
				if links := r.sim.Journal().Count("POST nodes/{id}/interfaces/{nic}/ link_subnet"); links != tc.links {
					t.Errorf("%s\n%d links, want %d", tc.reason, links, tc.links)
				}
				for n, i := range r.nics(t, "web-1") {
					want := map[string]string{"lan": lan, "dark": dark}[tc.subnets[n]]
					if want == "" {
						want = tc.subnets[n]
					}
					if len(i.Links) != 1 || i.Links[0].Mode != "auto" || i.Links[0].Subnet.CIDR != want {
						t.Errorf("%s\n%s has the links %+v, want auto in %s", tc.reason, i.Name, i.Links, want)
					}
				}
				if tc.deploy && len(vm.IPAddresses) != len(tc.subnets) {
					t.Errorf("%s\nit has the addresses %q, want one on each of %d interfaces", tc.reason, vm.IPAddresses, len(tc.subnets))
				}
			})
		})
	}
}
