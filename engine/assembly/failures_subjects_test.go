package assembly_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// subject is a kind of object, as one way to make it has it, whose creates and
// deletes are broken.
type subject struct {
	kind string // VM, Machine or Host
	name string
	// ref is what a front end knows before the object is there.
	ref   engine.Ref
	model func() sim.Model
	// prepare prepares the scene; nil: the model is enough.
	prepare func(*testing.T, testMAAS)
	// create applies the spec as a front end does; the system id is what it
	// learned, also beside an error.
	create func(process, engine.Ref) (systemID string, err error)
	delete func(process, engine.Ref) error
	// wantObject and none judge: there is exactly one, as wanted, or nothing of it.
	wantObject, wantNothing func(*testing.T, testMAAS)
	// once is the call that must not take effect twice.
	once string
	// http: also over sockets, which one way to make each kind is enough for.
	http bool
	// rows: the ledger matters.
	rows bool
	// named is the machine that the spec names, which a front end finds again
	// without having learned anything; empty: none.
	named string
}

func vmSubject(name string, spec engine.VMSpec) subject {
	return subject{
		kind: "VM", name: name, ref: newVMRef, model: world, rows: true, once: "POST vm-hosts/{id}/ compose",
		create: func(p process, ref engine.Ref) (string, error) {
			vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec))
			return vm.SystemID, err
		},
		delete: process.delete, wantObject: func(t *testing.T, r testMAAS) { t.Helper(); r.wantOne(t) }, wantNothing: func(t *testing.T, r testMAAS) { t.Helper(); r.wantNone(t) },
	}
}

func machineSubject(name string, spec engine.MachineSpec) subject {
	return subject{
		kind: "Machine", name: name, ref: newMachineRef, model: metalWorld, once: "POST machines/{id}/ deploy",
		create: func(p process, ref engine.Ref) (string, error) {
			m, err := p.applyMachine(ref, spec)
			return m.SystemID, err
		},
		delete: process.release,
		wantObject: func(t *testing.T, r testMAAS) {
			t.Helper()
			ours := "small"
			if slices.Equal(r.acquired(), []string{"tagged"}) { // it suits, too: the call of one that died still had the other
				ours = "tagged"
			}
			r.wantMachine(t, ours, nil)
		},
		wantNothing: func(t *testing.T, r testMAAS) { t.Helper(); r.wantNoMachine(t, nil) },
	}
}

func hostSubject(name string, spec func() engine.HostSpec) subject {
	return subject{
		kind: "Host", name: name, ref: newHostRef, model: hostWorld, once: "POST vm-hosts/", prepare: func(t *testing.T, r testMAAS) { r.deployByOperator(t) },
		create: func(p process, ref engine.Ref) (string, error) {
			h, err := p.applyHost(ref, spec())
			return h.Machine.SystemID, err
		},
		delete: process.deleteHost,
	}
}

// bondedSubject is a host whose NICs are in a bond, with a VLAN interface on it.
func bondedSubject() subject {
	s := hostSubject("Bonded", bondedHost)
	s.model = bondedWorld
	s.prepare = func(t *testing.T, r testMAAS) { r.deployByOperator(t); r.makeTaggedSubnet(t) }
	s.wantObject = func(t *testing.T, r testMAAS) {
		t.Helper()
		r.wantHost(t, "m1")
		r.wantNICs(t, "eth0 physical", "eth1 physical", "bond0 bond eth0+eth1", "bond0.100 vlan bond0 static", "br0 bridge bond0 *")
	}
	s.wantNothing = func(t *testing.T, r testMAAS) {
		t.Helper()
		r.wantNoHost(t)
		r.wantNICs(t, "eth0 physical auto", "eth1 physical link_up")
		if d := r.machine(t, "m1").Description; d != "" {
			t.Errorf("m1 has the description %q", d)
		}
	}
	return s
}

func subjects() []subject {
	placed := webVMSpec()
	placed.Host, placed.Placement = "", engine.Placement{Group: "web"}
	placed.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "lan", IP: netip.MustParseAddr("10.77.0.42")}}
	vm, spread := vmSubject("Named", webVMSpec()), vmSubject("Placed", placed)
	spread.wantObject = func(t *testing.T, r testMAAS) {
		t.Helper()
		r.wantOne(t)
		if links := r.links(t, "web-1"); len(links) != 1 || !slices.Equal(links[r.nicName(t, "web-1")], []string{"static"}) {
			t.Errorf("web-1 has the links %v, want a fixed address", links)
		}
	}

	selected := machineSubject("Selected", engine.MachineSpec{Deploy: noble()})
	adopted := machineSubject("Adopted", engine.MachineSpec{Machine: "busy", Adopt: true})
	adopted.once, adopted.named = "", "busy"
	adopted.wantObject = func(t *testing.T, r testMAAS) { t.Helper(); r.wantMachine(t, "", []string{"busy"}) }

	fixed := machineSubject("Fixed", fixedAddressMachine("small", "10.77.0.42"))
	fixed.named = "small"
	fixed.wantObject = func(t *testing.T, r testMAAS) {
		t.Helper()
		r.wantMachine(t, "small", nil)
		if links := r.links(t, "small")[r.nicName(t, "small")]; !slices.Equal(links, []string{"static"}) {
			t.Errorf("small has the links %v, want a fixed address", links)
		}
	}
	fixed.wantNothing = func(t *testing.T, r testMAAS) {
		t.Helper()
		r.wantNoMachine(t, nil)
		if links := r.links(t, "small")[r.nicName(t, "small")]; !slices.Equal(links, []string{"auto"}) || r.machine(t, "small").Description != "" {
			t.Errorf("small has the links %v and the description %q, want what commissioning left", links, r.machine(t, "small").Description)
		}
	}

	metal, server, run := hostSubject("Metal", metalHost), hostSubject("Server", serverHost), hostSubject("Adopted", adoptedHost)
	metal.wantObject = func(t *testing.T, r testMAAS) { t.Helper(); r.wantHost(t, "m1") }
	metal.wantNothing = func(t *testing.T, r testMAAS) { t.Helper(); r.wantNoHost(t) }
	server.wantObject = func(t *testing.T, r testMAAS) { t.Helper(); r.wantHost(t, "hv9") }
	server.wantNothing = metal.wantNothing
	run.named = "run"
	run.wantObject = func(t *testing.T, r testMAAS) { t.Helper(); r.wantHost(t, "run") }
	run.wantNothing = metal.wantNothing
	vm.http, selected.http, metal.http = true, true, true
	return []subject{vm, spread, selected, fixed, adopted, metal, bondedSubject(), server, run}
}

// marks are the owner data of ours, by the hostname of the machine that has
// any.
func (r testMAAS) marks() map[string]string {
	states := map[string]string{}
	for _, m := range r.sim.Machines() {
		for name, value := range m.OwnerData {
			if name == "maaslxd-state" {
				states[m.Hostname] = value
			} else if strings.HasPrefix(name, "maaslxd-") && states[m.Hostname] == "" {
				states[m.Hostname] = "?"
			}
		}
	}
	return states
}

// wantMachine checks that one machine is ours: allocated and deployed by us, or
// adopted.
func (r testMAAS) wantMachine(t *testing.T, ours string, adopted []string) {
	t.Helper()
	want, acquired := map[string]string{}, []string(nil)
	for _, name := range adopted {
		want[name] = "adopted"
	}
	if ours != "" {
		want[ours], acquired = "finished", []string{ours}
		if m := r.machine(t, ours); m.StatusName != "Deployed" {
			t.Errorf("%s is %s", ours, m.StatusName)
		}
	}
	if diff := cmp.Diff(want, r.marks()); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(acquired, r.acquired()); diff != "" {
		t.Errorf("acquired (-want +got):\n%s", diff)
	}
	r.wantUntouched(t)
}

func (r testMAAS) wantNoMachine(t *testing.T, acquired []string) {
	t.Helper()
	if diff := cmp.Diff(map[string]string{}, r.marks()); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(acquired, r.acquired()); diff != "" {
		t.Errorf("acquired (-want +got):\n%s", diff)
	}
	for _, m := range r.sim.Machines() {
		if m.Hostname == "small" && m.StatusName != "Ready" {
			t.Errorf("%s is %s", m.Hostname, m.StatusName)
		}
	}
	r.wantUntouched(t)
}

// wantUntouched checks that nothing foreign was touched, and no VM made.
func (r testMAAS) wantUntouched(t *testing.T) {
	t.Helper()
	for _, m := range r.sim.Machines() {
		if want := map[string]string{"busy": "Deployed", "run": "Deployed", "broken": "Broken", "fresh": "New"}[m.Hostname]; want != "" && m.StatusName != want {
			t.Errorf("%s is %s, it was %s", m.Hostname, m.StatusName, want)
		}
	}
	if n := len(r.sim.Instances()); n != 0 {
		t.Errorf("%d VMs were made", n)
	}
	r.wantNoDeletes(t)
	r.wantNoProject(t)
}

func (r testMAAS) wantHost(t *testing.T, hostname string) {
	t.Helper()
	list := r.records(t)
	if len(list) != 1 {
		t.Fatalf("want exactly one VM host, got %+v", list)
	}
	r.wantRecord(t, hostname)
	state, acquired := "adopted", []string{"run"}
	if hostname == "m1" {
		state, acquired = "finished", []string{"run"}
		bridges := 0
		for _, n := range r.nics(t, "m1") {
			if n.Type == "bridge" {
				bridges++
			}
		}
		if bridges != 1 {
			t.Errorf("%d bridges", bridges)
		}
	}
	if hostname == "run" {
		acquired = nil // it hosts a VM host now
	}
	if diff := cmp.Diff(map[string]string{hostname: state}, r.marks()); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(acquired, r.acquired()); diff != "" {
		t.Errorf("acquired (-want +got):\n%s", diff)
	}
	r.wantUntouched(t)
}

// wantNoHost checks that only what was there before is left: the machine that
// an operator deployed.
func (r testMAAS) wantNoHost(t *testing.T) {
	t.Helper()
	r.wantNoRecord(t)
	r.wantNoMachine(t, []string{"run"})
	for _, m := range r.sim.Machines() {
		if known := []string{"lxd1", "m1", "m2", "run"}; !slices.Contains(known, m.Hostname) || m.Hostname == "m1" && m.StatusName != "Ready" {
			t.Errorf("%s is left, %s", m.Hostname, m.StatusName)
		}
	}
}
