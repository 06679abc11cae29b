package lxd

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// newStorageInterface returns an interface to add to an existing VM.
func newStorageInterface(mode string) engine.Interface {
	return engine.Interface{Name: "storage", Subnet: fleetSubnet, Mode: mode}
}

// withInterface returns a spec with one more interface.
func withInterface(s engine.VMSpec, i engine.Interface) engine.VMSpec {
	s.AddedInterfaces = []engine.Interface{i}
	return s
}

// withoutInterface returns a spec with one interface less.
func withoutInterface(s engine.VMSpec, label string) engine.VMSpec {
	s.RemovedInterfaces = []string{label}
	return s
}

// linksInMAAS returns the addresses and modes that MAAS has for a machine's interfaces, by
// MAC.
func (w *composeWorld) linksInMAAS(t *testing.T, systemID string) map[string][]string {
	t.Helper()
	m, err := w.maas.Machines.Machine(t.Context(), systemID)
	if err != nil {
		t.Fatal(err)
	}
	links := map[string][]string{}
	for _, i := range m.Interfaces {
		links[i.MAC] = []string{}
		for _, l := range i.Links {
			if l.Mode != engine.LinkStatic {
				l.IP = ""
			}
			links[i.MAC] = append(links[i.MAC], strings.TrimSpace(l.Mode+" "+l.IP))
		}
	}
	return links
}

// countWrites counts the calls to MAAS and the LXDs that may change something.
func (w *composeWorld) countWrites() (inMAAS, inLXD int) {
	count := func(calls []sim.Call) (many int) {
		for _, c := range calls {
			if !strings.HasPrefix(c.Route, "GET ") {
				many++
			}
		}
		return many
	}
	j := w.sim.Journal()
	return count(j.Calls), count(j.LXD.Calls)
}

// TestRelabelAddedInterface gives another label to an interface whose MAC is from the spec.
// The NIC with the former label passes its MAC to the new one.
func TestRelabelAddedInterface(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 1), ledger.NewMemory(nil)
	ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
		s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
	})
	const mac = "00:16:3e:aa:00:01"
	had := engine.Interface{Name: "stor", Subnet: fleetSubnet, Mode: engine.LinkDHCP, MAC: mac}
	if _, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, withInterface(made, had))); err != nil {
		t.Fatal(err)
	}
	wanted := had
	wanted.Name = "storage"
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, withoutInterface(withInterface(made, wanted), "stor")))
	if nic := vm.AddedNICs["storage"]; err != nil || len(vm.AddedNICs) != 1 || nic.MAC != mac {
		t.Errorf("want the MAC with the new label alone, got %+v, %v", vm.AddedNICs, err)
	}
}

// TestAddInterface adds an interface to a VM and removes it, without any change in MAAS. If
// a run is cut off, the next run continues it, and a delete leaves nothing.
func TestAddInterface(t *testing.T) {
	t.Parallel()
	const instances = "lxd/h1/1.0/instances/*"
	up, dhcp := newStorageInterface(engine.LinkUp), newStorageInterface(engine.LinkDHCP)
	cases := map[string]struct {
		reason string
		ready  bool // nothing is deployed on the VM
		wants  engine.Interface
		fault  *sim.Fault
	}{
		"DHCP":    {"The guest asks for its address.", false, dhcp, nil},
		"Up":      {"It has no address.", false, up, nil},
		"Ready":   {"It is stopped.", true, dhcp, nil},
		"Refused": {"Nothing was done.", false, dhcp, &sim.Fault{Method: "PUT", Path: instances, Kind: sim.FaultStatus, Status: 503}},
		"Lost":    {"It was added.", false, dhcp, &sim.Fault{Method: "PUT", Path: instances, Kind: sim.FaultLostReply}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := newWorld(t, 1), ledger.NewMemory(nil)
			ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
				s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
				if tc.ready {
					s.Deploy = nil
				}
			})
			before, _ := w.onlyInstance(t)
			links := w.linksInMAAS(t, ref.SystemID)
			told, _ := w.countWrites()
			want := withInterface(made, tc.wants)
			if tc.fault != nil {
				once := *tc.fault
				once.Times = 5 // the client asks again by itself
				id := w.sim.AddFault(once)
				if _, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), ref, want); err == nil && tc.fault.Kind == sim.FaultStatus {
					t.Errorf("%s\nthe fault was not told", tc.reason)
				}
				w.sim.RemoveFault(id)
			}
			var written int
			for again := range 2 {
				vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, want))
				if nic := vm.AddedNICs["storage"]; err != nil || len(vm.AddedNICs) != 1 || nic.Mode != tc.wants.Mode || nic.Bridge != "maasbr0" || nic.Device != "eth1" {
					t.Fatalf("%s\nwant the interface storage, got %+v, %v", tc.reason, vm.AddedNICs, err)
				}
				i, _ := w.onlyInstance(t)
				if i.Running != before.Running || len(i.MACs) != 2 || i.MACs[0] != before.MACs[0] || i.MACs[1] == i.MACs[0] {
					t.Errorf("%s\nthe instance is %+v, and was %+v", tc.reason, i, before)
				}
				_, n := w.countWrites()
				if again == 1 && n != written {
					t.Errorf("%s\nthe second time LXD got %d writes more", tc.reason, n-written)
				}
				written = n
			}
			vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, withoutInterface(made, "storage")))
			if i, _ := w.onlyInstance(t); err != nil || len(vm.AddedNICs) != 0 || !slices.Equal(i.MACs, before.MACs) || i.Running != before.Running {
				t.Errorf("%s\nwant it gone, got %+v, %+v, %v", tc.reason, vm.AddedNICs, i, err)
			}
			if now, _ := w.countWrites(); now != told || !cmp.Equal(links, w.linksInMAAS(t, ref.SystemID)) {
				t.Errorf("%s\nMAAS was told by %d calls, and has %v", tc.reason, now-told, w.linksInMAAS(t, ref.SystemID))
			}
			last := w.newEngineWith(t, book)
			if _, err := engine.WaitUntilDone(t.Context(), func(ctx context.Context) (engine.Result[engine.VM], error) { return last.VMs.Delete(ctx, ref) }); err != nil {
				t.Error(err)
			}
			w.wantVolumes(t)
		})
	}
}

// TestLinksOfMadeInterfaces: an added interface takes no link of the first interfaces, even
// if MAAS knows it by now. While its LXD does not answer, it cannot be told from them.
func TestLinksOfMadeInterfaces(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		known  bool // to MAAS, by a commissioning
		silent bool // its LXD
	}{
		"Unknown": {reason: "MAAS knows those alone that the VM was made with."},
		"Known":   {reason: "MAAS knows all.", known: true},
		"Silent":  {reason: "Nobody tells which is which.", known: true, silent: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := newWorld(t, 1), ledger.NewMemory(nil)
			fixed := func(label, ip string) engine.Interface {
				return engine.Interface{Name: label, Subnet: fleetSubnet, IP: netip.MustParseAddr(ip)}
			}
			ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
				s.Resize, s.Deploy = false, nil
				s.Interfaces = []engine.Interface{fixed("eth0", "10.77.0.40"), fixed("eth2", "10.77.0.42")}
			})
			links := w.linksInMAAS(t, ref.SystemID)
			added := newStorageInterface(engine.LinkDHCP)
			added.Name = "eth1"
			if _, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, withInterface(made, added))); err != nil {
				t.Fatal(err)
			}
			if tc.known {
				w.commissionMachine(t, ref.SystemID)
			}
			deployed := made
			deployed.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
			ref.Finished = false
			if tc.silent {
				w.setUnreachable(t, "h1")
				if _, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), ref, deployed); !errors.Is(err, engine.ErrUnavailable) {
					t.Errorf("%s\nwant ErrUnavailable, got %v", tc.reason, err)
				}
				w.setUnreachable(t)
			}
			vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, deployed))
			if err != nil || len(vm.AddedNICs) != 1 {
				t.Fatalf("%s\ngot %+v, %v", tc.reason, vm.AddedNICs, err)
			}
			got := w.linksInMAAS(t, ref.SystemID)
			if _, isThere := got[vm.AddedNICs["eth1"].MAC]; isThere != tc.known {
				t.Errorf("%s\nMAAS has %v", tc.reason, got)
			}
			delete(got, vm.AddedNICs["eth1"].MAC)
			if diff := cmp.Diff(links, got); diff != "" {
				t.Errorf("%s\nlinks (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// commissionMachine commissions a Ready machine, as a user does in MAAS's UI.
func (w *composeWorld) commissionMachine(t *testing.T, systemID string) {
	t.Helper()
	before, err := w.maas.Machines.Machine(t.Context(), systemID)
	if err == nil {
		err = w.maas.Machines.Commission(t.Context(), systemID)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.WaitUntilDone(t.Context(), func(ctx context.Context) (engine.Result[engine.Machine], error) {
		m, err := w.maas.Machines.Machine(ctx, systemID)
		return engine.Result[engine.Machine]{Object: m, SystemID: systemID, Done: m.Status == engine.StatusReady && len(m.Interfaces) > len(before.Interfaces), After: time.Millisecond}, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNamesOfNICs chooses the names of added NICs, eth0 to eth9.
func TestNamesOfNICs(t *testing.T) {
	t.Parallel()
	all := []string{"eth0", "eth1", "eth2", "eth3", "eth4", "eth5", "eth6", "eth7", "eth8", "eth9"}
	cases := map[string]struct {
		reason       string
		taken        []string
		lowest, last string
	}{
		"Next":   {"There is no gap.", []string{"eth0", "eth1"}, "eth2", "eth2"},
		"Gap":    {"It has the port of the one that went, or a new one.", []string{"eth0", "eth2"}, "eth1", "eth3"},
		"Tail":   {"LXD sorts eth10 before eth2.", []string{"eth0", "eth9"}, "eth1", "eth1"},
		"Full":   {"None is left.", all, "", ""},
		"Others": {"They have names of their own.", []string{"gpu0", "eth0", "eth10"}, "eth1", "eth1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			taken := map[string]bool{}
			for _, name := range tc.taken {
				taken[name] = true
			}
			if lowest, last := lowestFreeNIC(taken), lastFreeNIC(taken); lowest != tc.lowest || last != tc.last {
				t.Errorf("%s\nwant %q and %q, got %q and %q", tc.reason, tc.lowest, tc.last, lowest, last)
			}
		})
	}
}

// TestInterfaceInAGap removes one of several added interfaces, and adds another one while
// the VM runs. LXD has a port for it only if it has the right name.
func TestInterfaceInAGap(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 1), ledger.NewMemory(nil)
	ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
		s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
	})
	labelled := func(labels ...string) []engine.Interface {
		var all []engine.Interface
		for _, label := range labels {
			i := newStorageInterface(engine.LinkDHCP)
			i.Name = label
			all = append(all, i)
		}
		return all
	}
	steps := []struct {
		reason        string
		adds, removes []string
		devices       map[string]string
	}{
		{"Two ports are free.", []string{"a", "b"}, nil, map[string]string{"a": "eth1", "b": "eth2"}},
		{"It gives its port back.", nil, []string{"a"}, map[string]string{"b": "eth2"}},
		{"It has the port of a.", []string{"c"}, nil, map[string]string{"b": "eth2", "c": "eth1"}},
		{"A new label is a new NIC, in the place of the former one.", []string{"d"}, []string{"c"}, map[string]string{"b": "eth2", "d": "eth1"}},
	}
	for _, step := range steps {
		want := made
		want.AddedInterfaces, want.RemovedInterfaces = labelled(step.adds...), step.removes
		vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, want))
		if err != nil {
			t.Fatalf("%s\n%v", step.reason, err)
		}
		got := map[string]string{}
		for label, nic := range vm.AddedNICs {
			got[label] = nic.Device
		}
		if diff := cmp.Diff(step.devices, got); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", step.reason, diff)
		}
	}
}

// TestAddInterfaceRefused changes nothing on a VM that cannot get this interface.
func TestAddInterfaceRefused(t *testing.T) {
	t.Parallel()
	bridged, twin, foreign := newStorageInterface(engine.LinkDHCP), newStorageInterface(engine.LinkDHCP), newStorageInterface(engine.LinkDHCP)
	further := newStorageInterface(engine.LinkDHCP)
	further.Addresses = []engine.InterfaceAddress{{Subnet: fleetSubnet}}
	bridged.Bridge, twin.MAC, foreign.MAC = "br7", "52:54:00:12:34:56", "00:16:3e:aa:bb:cc"
	cases := map[string]struct {
		reason   string
		wants    engine.Interface
		at, says string
	}{
		"Static":   {"MAAS would choose the address.", newStorageInterface(engine.LinkStatic), "interfaces.storage.mode", "MAAS would give interfaces.storage an address"},
		"Auto":     {"MAAS would choose the address.", newStorageInterface(engine.LinkAuto), "interfaces.storage.mode", "MAAS would give interfaces.storage an address"},
		"Further":  {"MAAS would choose its second address.", further, "interfaces.storage.mode", "MAAS would give interfaces.storage an address"},
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
			ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
				s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
			})
			before, _ := w.onlyInstance(t)
			other := newComposition("other")
			other.Interfaces[0].MAC = twin.MAC
			w.composeVM(w.composer, other)
			_, err := w.newEngine(t).VMs.Reconcile(t.Context(), ref, withInterface(made, tc.wants))
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

// TestAddedInterfaceGone: an added NIC that was detached in LXD is not reported, and is
// added again. A NIC that someone put in its place belongs to nobody, and stays.
func TestAddedInterfaceGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
		s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
	})
	want := withInterface(made, newStorageInterface(engine.LinkDHCP))
	reconcile := func() engine.VM {
		t.Helper()
		vm, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want))
		if err != nil {
			t.Fatal(err)
		}
		return vm
	}
	first := reconcile().AddedNICs["storage"]
	w.editInstance(t, "web1", func(i *api.InstancePut) {
		i.Devices["eth1"] = map[string]string{"type": "nic", "nictype": "bridged", "parent": "maasbr0", "hwaddr": "00:16:3e:00:00:05"}
	})
	if seen, err := w.newEngine(t).VMs.Observe(t.Context(), ref); err != nil || seen.AddedNICs == nil || len(seen.AddedNICs) != 0 {
		t.Errorf("want no interface told, got %+v, %v", seen.AddedNICs, err)
	}
	again := reconcile().AddedNICs["storage"]
	if again.Device != "eth2" || again.MAC == first.MAC || again.MAC == "" {
		t.Errorf("it is %+v now, and was %+v", again, first)
	}
	want = withoutInterface(made, "storage")
	reconcile()
	if i, _ := w.onlyInstance(t); len(i.MACs) != 2 || i.MACs[1] != "00:16:3e:00:00:05" {
		t.Errorf("the instance has %v", i.MACs)
	}
}
