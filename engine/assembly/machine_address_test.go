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

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// fixedAddressMachine is a machine with a fixed address; an empty name means any that fits.
func fixedAddressMachine(hostname, ip string) engine.MachineSpec {
	return engine.MachineSpec{
		Machine: hostname, Deploy: noble(),
		Interfaces: []engine.FixedAddress{{Name: "eth0", IP: netip.MustParseAddr(ip)}},
	}
}

// links are the modes of what ties a machine's interfaces and bridges to a
// subnet, by their names.
func (r testMAAS) links(t *testing.T, hostname string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, n := range r.nics(t, hostname) {
		for _, l := range n.Links {
			found[n.Name] = append(found[n.Name], l.Mode)
		}
	}
	return found
}

// nicName is the name of a machine's first interface.
func (r testMAAS) nicName(t *testing.T, hostname string) string {
	t.Helper()
	return r.nics(t, hostname)[0].Name
}

// TestMachineAddress gives a machine a fixed address, and takes it back.
func TestMachineAddress(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		r.edit(t, "tagged", sim.MachineEdit{Description: ptr("rack 7\nsecond shelf")})
		r.sim.ResetJournal()
		m, err := p.applyMachine(newMachineRef, fixedAddressMachine("tagged", "10.77.0.42"))
		if err != nil || m.StatusName != "Deployed" || !slices.Equal(m.IPAddresses, []string{"10.77.0.42"}) {
			t.Fatalf("got %s with %v, %v", m.StatusName, m.IPAddresses, err)
		}
		want := []string{
			"POST machines/ allocate", "POST machines/{id}/ set_owner_data", "PUT machines/{id}/",
			"POST nodes/{id}/interfaces/{nic}/ link_subnet", "POST machines/{id}/ deploy", "POST machines/{id}/ set_owner_data",
		}
		if diff := cmp.Diff(want, r.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		ref := engine.Ref{Key: metalKey, SystemID: m.SystemID}
		r.sim.ResetJournal()
		if res, err := p.engine.Machines.Reconcile(t.Context(), ref, fixedAddressMachine("tagged", "10.77.0.42")); err != nil || !res.Done || len(r.writes()) > 0 {
			t.Errorf("again: %+v, %v, %v", res, err, r.writes())
		}
		if err := p.release(ref); err != nil {
			t.Fatal(err)
		}
		r.wantReady(t, "tagged")
		r.wantNoDeletes(t)
		if got := r.machine(t, "tagged").Description; got != "rack 7\nsecond shelf" {
			t.Errorf("the description is %q afterwards", got)
		}
		if diff := cmp.Diff(map[string][]string{r.nicName(t, "tagged"): {"auto"}}, r.links(t, "tagged")); diff != "" {
			t.Errorf("links afterwards (-want +got):\n%s", diff)
		}
		if _, err := p.applyMachine(engine.Ref{Key: "default/db-2"}, fixedAddressMachine("small", "10.77.0.42")); err != nil {
			t.Errorf("the address is not free again: %v", err)
		}
	})
}

// TestMachineAddressIsChecked asks for what a machine cannot have: none is
// allocated.
func TestMachineAddressIsChecked(t *testing.T) {
	cases := map[string]struct {
		reason string
		before func(*testing.T, testMAAS)
		want   engine.MachineSpec
		edit   func(*engine.FixedAddress)
		field  string
		says   string
	}{
		"NoSubnet":  {reason: "MAAS has no subnet for it.", want: fixedAddressMachine("tagged", "192.0.2.7"), field: ".ip", says: "in no subnet of MAAS"},
		"NoAddress": {reason: "What is fixed is to be named.", want: fixedAddressMachine("tagged", "10.77.0.42"), edit: func(f *engine.FixedAddress) { f.IP = netip.Addr{} }, field: ".ip", says: "no address"},
		"Elsewhere": {reason: "It is not of that subnet.", want: fixedAddressMachine("tagged", "10.78.0.42"), edit: func(f *engine.FixedAddress) { f.Subnet = "lan" }, field: ".ip", says: "is not in 10.77.0.0/24"},
		"Subnet":    {reason: "MAAS does not have it.", want: fixedAddressMachine("tagged", "10.77.0.42"), edit: func(f *engine.FixedAddress) { f.Subnet = "far" }, field: ".subnet", says: `no subnet "far"`},
		"NIC":       {reason: "The machine does not have it.", want: fixedAddressMachine("tagged", "10.77.0.42"), edit: func(f *engine.FixedAddress) { f.NIC = "eth9" }, field: ".nic", says: `"eth9"`},
		"Taken": {
			reason: "Another machine has it.", want: fixedAddressMachine("tagged", "10.77.0.42"), field: ".ip", says: "machine half",
			before: func(t *testing.T, r testMAAS) { r.linkMachine(t, "half", "10.77.0.42") },
		},
		"TakenForAll": {
			reason: "Another machine has it, which is not Ready.", want: fixedAddressMachine("", "10.77.0.42"), field: ".ip", says: "machine broken",
			before: func(t *testing.T, r testMAAS) { r.linkMachine(t, "broken", "10.77.0.42") },
		},
		"Operators": {
			reason: "People gave the machine another fixed address.", want: fixedAddressMachine("tagged", "10.77.0.42"), field: ".ip", says: "10.77.0.50 in MAAS already",
			before: func(t *testing.T, r testMAAS) { r.linkMachine(t, "tagged", "10.77.0.50") },
		},
		"Reserved": {
			reason: "Somebody reserved it.", want: fixedAddressMachine("", "10.77.0.42"), field: ".ip", says: "the MAAS user admin",
			before: func(t *testing.T, r testMAAS) {
				r.call(t, "POST", "ipaddresses/?op=reserve", url.Values{"ip": {"10.77.0.42"}})
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				if tc.before != nil {
					tc.before(t, r)
				}
				r.sim.ResetJournal()
				spec := tc.want
				spec.Interfaces = slices.Clone(spec.Interfaces)
				if tc.edit != nil {
					tc.edit(&spec.Interfaces[0])
				}
				_, err := p.applyMachine(newMachineRef, spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != "interfaces.eth0"+tc.field || bad.Hint == "" || !strings.Contains(bad.Error(), tc.says) {
					t.Errorf("%s\nwant an error about interfaces.eth0%s that says %q, got %v", tc.reason, tc.field, tc.says, err)
				}
				if writes := r.writes(); len(writes) > 0 {
					t.Errorf("%s\ngot the writes %v", tc.reason, writes)
				}
			})
		})
	}
}

// TestMachineAddressChooses: among machines that fit, one is chosen that can
// have the address.
func TestMachineAddressChooses(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		r.linkMachine(t, "small", "10.77.0.50")
		m, err := p.applyMachine(newMachineRef, fixedAddressMachine("", "10.77.0.42"))
		if err != nil || m.Hostname == "small" {
			t.Fatalf("small has an address of people's, and got %s, %v", m.Hostname, err)
		}
		r.linkMachine(t, "half", "10.77.0.43")
		other := engine.Ref{Key: "default/db-2"}
		m, err = p.applyMachine(other, fixedAddressMachine("", "10.77.0.43"))
		if err != nil || m.Hostname != "half" {
			t.Fatalf("half has that address already, and got %s, %v", m.Hostname, err)
		}
		other.SystemID = m.SystemID
		if err := p.release(other); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string][]string{r.nicName(t, "half"): {"static"}}, r.links(t, "half")); diff != "" {
			t.Errorf("people's address was taken back (-want +got):\n%s", diff)
		}
	})
}

// TestMachineAddressOnABridge puts the address where the traffic is.
func TestMachineAddressOnABridge(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		r.makeOperatorBridge(t, "tagged", "br0", "lan")
		m, err := p.applyMachine(newMachineRef, fixedAddressMachine("tagged", "10.77.0.42"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string][]string{"br0": {"static"}}, r.links(t, "tagged")); diff != "" {
			t.Errorf("links (-want +got):\n%s", diff)
		}
		if err := p.release(engine.Ref{Key: metalKey, SystemID: m.SystemID}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string][]string{"br0": {"auto"}}, r.links(t, "tagged")); diff != "" {
			t.Errorf("links afterwards (-want +got):\n%s", diff)
		}
	})
}

// TestMachineAddressOfOne lets two machines of one apply ask for one address.
func TestMachineAddressOfOne(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		errs := make([]error, 2)
		var both sync.WaitGroup
		for n, hostname := range []string{"tagged", "half"} {
			both.Go(func() {
				_, errs[n] = p.applyMachine(engine.Ref{Key: engine.Key(fmt.Sprintf("default/db-%d", n))}, fixedAddressMachine(hostname, "10.77.0.42"))
			})
		}
		both.Wait()
		lost := slices.IndexFunc(errs, func(err error) bool { return err != nil })
		if lost < 0 || errs[1-lost] != nil {
			t.Fatalf("want one machine and one error, got %v", errs)
		}
		wantAddressError(t, "Two ask at once.", errs[lost])
		if got := r.acquired(); len(got) != 1 {
			t.Errorf("acquired are %v, want one", got)
		}
	})
}

// TestMachineAddressLost: someone links the address after the machine was
// allocated for it. It is not deployed; once the address is free, it is.
func TestMachineAddressLost(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		r.sim.AddFault(sim.Fault{Method: "POST", Path: "nodes/*/interfaces/*/", Op: "link_subnet", Nth: 1, Kind: sim.FaultStatus, Status: 404, Body: "The IP address 10.77.0.42 is already in use."})
		_, err := p.applyMachine(newMachineRef, fixedAddressMachine("tagged", "10.77.0.42"))
		wantAddressError(t, "MAAS refuses the link.", err, "cannot have the address 10.77.0.42")
		if m := r.machine(t, "tagged"); m.StatusName != "Allocated" {
			t.Errorf("want it Allocated, got %s", m.StatusName)
		}
		r.linkMachine(t, "half", "10.77.0.42")
		_, err = p.applyMachine(newMachineRef, fixedAddressMachine("tagged", "10.77.0.42"))
		wantAddressError(t, "Another machine has it.", err, "machine half")
		r.linkMachine(t, "half", "10.77.0.43")
		if m, err := p.applyMachine(newMachineRef, fixedAddressMachine("tagged", "10.77.0.42")); err != nil || !slices.Equal(m.IPAddresses, []string{"10.77.0.42"}) {
			t.Errorf("got %v, %v", m.IPAddresses, err)
		}
	})
}

// TestMachineAddressGivenBackUnseen deletes a machine of which the caller never
// learned the system id, before it was deployed.
func TestMachineAddressGivenBackUnseen(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		spec := fixedAddressMachine("tagged", "10.77.0.42")
		spec.Deploy = nil
		if _, err := p.applyMachine(newMachineRef, spec); err != nil {
			t.Fatal(err)
		}
		if err := p.release(newMachineRef); err != nil {
			t.Fatal(err)
		}
		r.wantReady(t, "tagged")
		if diff := cmp.Diff(map[string][]string{r.nicName(t, "tagged"): {"auto"}}, r.links(t, "tagged")); diff != "" || r.machine(t, "tagged").Description != "" {
			t.Errorf("links afterwards (-want +got):\n%s\ndescription %q", diff, r.machine(t, "tagged").Description)
		}
	})
}
