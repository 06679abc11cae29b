package lxd

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// storage is an interface that comes in place.
func storage(mode string) engine.Interface {
	return engine.Interface{Name: "storage", Subnet: fleetSubnet, Mode: mode}
}

// withInterface is a spec by which a VM gets one interface more.
func withInterface(s engine.VMSpec, i engine.Interface) engine.VMSpec {
	s.Interfaces, s.AddedInterfaces = append(slices.Clone(s.Interfaces), i), []string{i.Name}
	return s
}

// withoutInterface is a spec by which a VM gives an interface back.
func withoutInterface(s engine.VMSpec, label string) engine.VMSpec {
	s.RemovedInterfaces = []string{label}
	return s
}

// linksInMAAS are the modes of the links of each interface that MAAS knows of the one VM, in order.
func (w *composeWorld) linksInMAAS(t *testing.T, systemID string) (modes [][]string, addresses []string) {
	t.Helper()
	m, err := w.maas.Machines.Machine(t.Context(), systemID)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range m.Interfaces {
		var of []string
		for _, l := range i.Links {
			of = append(of, l.Mode)
			addresses = append(addresses, l.IP)
		}
		modes = append(modes, of)
	}
	return modes, addresses
}

// TestAddInterface gives a VM an interface, and takes it away. A run that is cut off at any of its
// calls is gone on with by the next one, and a delete leaves nothing.
func TestAddInterface(t *testing.T) {
	t.Parallel()
	const instances, nics, links = "lxd/h1/1.0/instances/*", "nodes/*/interfaces/", "nodes/*/interfaces/*/"
	fixed := storage(engine.LinkStatic)
	fixed.IP = netip.MustParseAddr("10.77.0.42")
	auto, up, dhcp := storage(engine.LinkAuto), storage(engine.LinkUp), storage(engine.LinkDHCP)
	cases := map[string]struct {
		reason string
		ready  bool // nothing is deployed on the VM
		wants  engine.Interface
		fault  *sim.Fault
		links  [][]string // of the VM in MAAS then
	}{
		"DHCP":       {"MAAS has nothing to do with it.", false, dhcp, nil, [][]string{{"auto"}}},
		"Up":         {"It has no address.", false, up, nil, [][]string{{"auto"}}},
		"Refused":    {"Nothing was done.", false, dhcp, &sim.Fault{Method: "PUT", Path: instances, Kind: sim.FaultStatus, Status: 503}, [][]string{{"auto"}}},
		"Lost":       {"It was added.", false, dhcp, &sim.Fault{Method: "PUT", Path: instances, Kind: sim.FaultLostReply}, [][]string{{"auto"}}},
		"Auto":       {"MAAS gives the address with the deployment.", true, auto, nil, [][]string{{"auto"}, {"auto"}}},
		"Static":     {"MAAS gives the address at once.", true, fixed, nil, [][]string{{"auto"}, {"static"}}},
		"NotMade":    {"LXD has it, and MAAS does not know of it.", true, fixed, &sim.Fault{Method: "POST", Path: nics, Kind: sim.FaultStatus, Status: 503}, [][]string{{"auto"}, {"static"}}},
		"MadeLost":   {"MAAS knows of it.", true, fixed, &sim.Fault{Method: "POST", Path: nics, Kind: sim.FaultLostReply}, [][]string{{"auto"}, {"static"}}},
		"NotLinked":  {"MAAS knows of it, without an address.", true, fixed, &sim.Fault{Method: "POST", Path: links, Op: "link_subnet", Kind: sim.FaultStatus, Status: 503}, [][]string{{"auto"}, {"static"}}},
		"LinkedLost": {"It has its address.", true, fixed, &sim.Fault{Method: "POST", Path: links, Op: "link_subnet", Kind: sim.FaultLostReply}, [][]string{{"auto"}, {"static"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := newWorld(t, 1), ledger.NewMemory(nil)
			ref, made := w.runningVM(t, func(s *engine.VMSpec) {
				s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
				if tc.ready {
					s.Deploy = nil
				}
			})
			before, _ := w.instance(t)
			want := withInterface(made, tc.wants)
			if tc.fault != nil {
				once := *tc.fault
				once.Times = 5 // the client asks again by itself
				id := w.sim.AddFault(once)
				if _, err := w.processWith(t, book).VMs.Reconcile(t.Context(), ref, want); err == nil && tc.fault.Kind == sim.FaultStatus {
					t.Errorf("%s\nthe fault was not told", tc.reason)
				}
				w.sim.RemoveFault(id)
			}
			for range 2 { // the second time there is nothing to do
				vm, err := engine.Wait(t.Context(), w.processWith(t, book).VMs.Steps(ref, want))
				if nic := vm.AddedNICs["storage"]; err != nil || len(vm.AddedNICs) != 1 || nic.Mode != tc.wants.Mode || nic.Bridge != "maasbr0" || nic.Device != "eth1" {
					t.Fatalf("%s\nwant the interface storage, got %+v, %v", tc.reason, vm.AddedNICs, err)
				}
				i, _ := w.instance(t)
				if i.Running != before.Running || len(i.MACs) != 2 || i.MACs[0] != before.MACs[0] || i.MACs[1] == i.MACs[0] {
					t.Errorf("%s\nthe instance is %+v, and was %+v", tc.reason, i, before)
				}
				modes, ips := w.linksInMAAS(t, ref.SystemID)
				if diff := cmp.Diff(tc.links, modes); diff != "" || tc.wants.IP.IsValid() && !slices.Contains(ips, tc.wants.IP.String()) {
					t.Errorf("%s\nMAAS has the addresses %v, and links (-want +got):\n%s", tc.reason, ips, diff)
				}
			}
			vm, err := engine.Wait(t.Context(), w.processWith(t, book).VMs.Steps(ref, withoutInterface(made, "storage")))
			if i, _ := w.instance(t); err != nil || len(vm.AddedNICs) != 0 || !slices.Equal(i.MACs, before.MACs) || i.Running != before.Running {
				t.Errorf("%s\nwant it gone, got %+v, %+v, %v", tc.reason, vm.AddedNICs, i, err)
			}
			if modes, _ := w.linksInMAAS(t, ref.SystemID); !cmp.Equal([][]string{{"auto"}}, modes) {
				t.Errorf("%s\nMAAS has %v left", tc.reason, modes)
			}
			last := w.processWith(t, book)
			if _, err := engine.Wait(t.Context(), func(ctx context.Context) (engine.Result[engine.VM], error) { return last.VMs.Delete(ctx, ref) }); err != nil {
				t.Error(err)
			}
			w.volumes(t)
		})
	}
}

// TestAddInterfaceRefused leaves a VM as it is that cannot get an interface so.
func TestAddInterfaceRefused(t *testing.T) {
	t.Parallel()
	bridged, twin, foreign := storage(engine.LinkDHCP), storage(engine.LinkDHCP), storage(engine.LinkDHCP)
	bridged.Bridge, twin.MAC, foreign.MAC = "br7", "52:54:00:12:34:56", "00:16:3e:aa:bb:cc"
	cases := map[string]struct {
		reason   string
		wants    engine.Interface
		at, says string
	}{
		"Static":   {"MAAS links no interface of a deployed machine.", storage(engine.LinkStatic), "interfaces.storage.mode", "only to machines that are not deployed: interfaces.storage has mode static"},
		"Auto":     {"So it is with what MAAS chooses.", storage(engine.LinkAuto), "interfaces.storage.mode", "interfaces.storage has mode auto"},
		"NoBridge": {"Neither MAAS nor LXD know it.", bridged, "interfaces.storage.bridge", "has no bridge br7 into subnet"},
		"InLXD":    {"LXD starts only one of two.", twin, "interfaces.storage.mac_address", "another instance of the fleet has the MAC"},
		"InMAAS":   {"MAAS finds machines by their MACs.", foreign, "interfaces.storage.mac_address", "machine metal"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1, func(m *sim.Model) {
				m.Machines = append(m.Machines, sim.MachineModel{Hostname: "metal", MAC: "00:16:3e:aa:bb:cc"})
			})
			ref, made := w.runningVM(t, func(s *engine.VMSpec) {
				s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
			})
			before, _ := w.instance(t)
			other := vm("other")
			other.Interfaces[0].MAC = twin.MAC
			w.compose(w.composer, other)
			_, err := w.process(t).VMs.Reconcile(t.Context(), ref, withInterface(made, tc.wants))
			bad, ok := errors.AsType[*engine.SpecError](err)
			if !ok || bad.Field.String() != tc.at || !strings.Contains(bad.Message, tc.says) {
				t.Errorf("%s\nwant %q at %s, got %v", tc.reason, tc.says, tc.at, err)
			}
			for _, i := range w.sim.Instances() {
				if i.Name == "web1" && !slices.Equal(i.MACs, before.MACs) {
					t.Errorf("%s\nit has %v now, and had %v", tc.reason, i.MACs, before.MACs)
				}
			}
		})
	}
}

// TestAddedInterfaceGone: a NIC that somebody took away in LXD is not told, and comes again with the
// another MAC. One that somebody put in its place is nobody's, and stays.
func TestAddedInterfaceGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	ref, made := w.runningVM(t, func(s *engine.VMSpec) {
		s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
	})
	want := withInterface(made, storage(engine.LinkDHCP))
	reconcile := func() engine.VM {
		t.Helper()
		vm, err := engine.Wait(t.Context(), w.process(t).VMs.Steps(ref, want))
		if err != nil {
			t.Fatal(err)
		}
		return vm
	}
	first := reconcile().AddedNICs["storage"]
	w.editInstance(t, "web1", func(i *api.InstancePut) {
		i.Devices["eth1"] = map[string]string{"type": "nic", "nictype": "bridged", "parent": "maasbr0", "hwaddr": "00:16:3e:00:00:05"}
	})
	if seen, err := w.process(t).VMs.Observe(t.Context(), ref); err != nil || seen.AddedNICs == nil || len(seen.AddedNICs) != 0 {
		t.Errorf("want no interface told, got %+v, %v", seen.AddedNICs, err)
	}
	again := reconcile().AddedNICs["storage"]
	if again.Device != "eth2" || again.MAC == first.MAC || again.MAC == "" {
		t.Errorf("it is %+v now, and was %+v", again, first)
	}
	want = withoutInterface(made, "storage")
	reconcile()
	if i, _ := w.instance(t); len(i.MACs) != 2 || i.MACs[1] != "00:16:3e:00:00:05" {
		t.Errorf("the instance has %v", i.MACs)
	}
}
