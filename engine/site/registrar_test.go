package site

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// formerHost is a machine with our mark and a VM host in MAAS, from the time when MAAS made the
// VMs. Now LXD makes them.
type formerHost struct {
	*Site
	config  Config
	sim     *sim.Server
	machine string // its system id
	id      int    // of the VM host in MAAS
}

// newFormerHost starts a MAAS with the VM host h1. MAAS knew the machine before, or it made the
// machine's record itself.
func newFormerHost(t *testing.T, isMadeByMAAS bool) formerHost {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	const mac = "00:16:3e:00:00:01"
	model := sim.Model{
		MAASVersion: sim.Version37, LXDListen: sim.LXDListenPorts,
		Hosts: []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, MAC: mac, Unregistered: true, TrustedCertificates: []string{key.Certificate}}},
	}
	if !isMadeByMAAS {
		model.Machines = []sim.MachineModel{{Hostname: "h1", MAC: mac, Status: "Deployed"}}
	}
	h := formerHost{sim: sim.StartServer(t, model)}
	h.config = Config{URL: h.sim.URL, APIKey: h.sim.APIKey(), Ledger: ledger.NewMemory(nil), Composer: LXD, InsecureKey: true}
	h.restart(t)
	_, err = h.client.Hosts.Register(t.Context(), engine.Registration{
		Name: "h1", Zone: "default", Pool: "default", Credentials: key.Credentials,
		Endpoint: engine.Endpoint{Address: h.sim.LXDs()[0].Listening[0], Project: "default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.client.Hosts.RelistHosts(t.Context()); err != nil && !errors.Is(err, engine.ErrGone) {
		t.Fatal(err)
	}
	hosts, err := h.client.Hosts.Hosts(t.Context())
	if err != nil || len(hosts) != 1 || hosts[0].MachineID == "" {
		t.Fatalf("hosts: %+v, %v", hosts, err)
	}
	h.machine, h.id = hosts[0].MachineID, hosts[0].ID
	h.note(t, engine.StateData, engine.StateFinished)
	return h
}

// restart forgets what the site has read of MAAS.
func (h *formerHost) restart(t *testing.T) {
	t.Helper()
	var err error
	if h.Site, err = New(h.config); err != nil {
		t.Fatal(err)
	}
}

// note gives the machine our mark, the number of the VM host, and one more note.
func (h formerHost) note(t *testing.T, key, value string) {
	t.Helper()
	data := map[string]string{engine.AddressData: h.sim.LXDs()[0].Listening[0], engine.ProjectData: "default", engine.VMHostData: strconv.Itoa(h.id)}
	data[key] = value
	if err := h.sim.EditMachine(h.machine, sim.MachineEdit{Tags: &[]string{engine.HostTag}, OwnerData: &data}); err != nil {
		t.Fatal(err)
	}
}

// hasVMHost tells whether MAAS still has the VM host.
func (h formerHost) hasVMHost(t *testing.T) bool {
	t.Helper()
	if err := h.client.Hosts.RelistHosts(t.Context()); err != nil && !errors.Is(err, engine.ErrGone) {
		t.Fatal(err)
	}
	hosts, err := h.client.Hosts.Hosts(t.Context())
	if err != nil && !errors.Is(err, engine.ErrGone) {
		t.Fatal(err)
	}
	return slices.ContainsFunc(hosts, func(v engine.VMHost) bool { return v.ID == h.id })
}

// TestUnregisterBesideMAAS removes an LXD host that may have a VM host in MAAS. Our VM host goes
// first and the machine's tag goes last, so an interrupted removal can be repeated.
func TestUnregisterBesideMAAS(t *testing.T) {
	t.Parallel()
	fault := func(method, path string) func(*testing.T, formerHost) {
		return func(_ *testing.T, h formerHost) {
			h.sim.AddFault(sim.Fault{Method: method, Path: path, Kind: "status", Status: http.StatusInternalServerError})
		}
	}
	note := func(key, value string) func(*testing.T, formerHost) {
		return func(t *testing.T, h formerHost) { h.note(t, key, value) }
	}
	unchanged := func(*testing.T, formerHost) {}
	upgrade := func(t *testing.T, h formerHost) {
		if err := h.sim.Upgrade(); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason       string
		isMadeByMAAS bool
		change       func(*testing.T, formerHost)
		hasOldList   bool // of MAAS's VM hosts
		fails        bool
		keepsVMHost  bool
	}{
		"Ours":       {reason: "MAAS does not release the machine while it has the VM host.", change: unchanged},
		"Adopted":    {reason: "Someone else installed the machine, but the VM host is ours.", change: note(engine.StateData, engine.StateAdopted)},
		"Others":     {reason: "Someone else registered the VM host.", change: note(engine.VMHostData, "4711"), keepsVMHost: true},
		"NotNoted":   {reason: "This program never registered a VM host there.", change: note(engine.VMHostData, ""), keepsVMHost: true},
		"Unreadable": {reason: "A note that is not a number names no VM host.", change: note(engine.VMHostData, "h1"), keepsVMHost: true},
		"MadeByMAAS": {reason: "MAAS would delete its record of the machine with the VM host.", isMadeByMAAS: true, change: unchanged, keepsVMHost: true},
		"AdoptedMadeByMAAS": {
			reason: "An existing LXD is adopted with the record that MAAS made.", isMadeByMAAS: true,
			change: note(engine.StateData, engine.StateAdopted), keepsVMHost: true,
		},
		"Gone":            {reason: "MAAS answers 410 to the list: it removed its VM hosts, and only the note is left.", change: upgrade},
		"GoneSinceListed": {reason: "MAAS answers 410 to the removal: it removed its VM hosts after they were listed.", change: upgrade, hasOldList: true},
		"HostsUnreadable": {reason: "Nobody knows whether MAAS has the VM host.", change: fault(http.MethodGet, "vm-hosts/"), fails: true, keepsVMHost: true},
		"NotRemoved":      {reason: "MAAS still has the VM host, and the tag finds it again.", change: fault(http.MethodDelete, "vm-hosts/*/"), fails: true, keepsVMHost: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFormerHost(t, tc.isMadeByMAAS)
			tc.change(t, h)
			if !tc.hasOldList {
				h.restart(t)
			}
			err := h.choice.lxd.registrar.Unregister(t.Context(), engine.VMHost{MachineID: h.machine, Name: "h1"})
			if (err != nil) != tc.fails {
				t.Errorf("%s\ngot the error %v, want one: %t", tc.reason, err, tc.fails)
			}
			h.sim.ClearFaults()
			if got := h.hasVMHost(t); got != tc.keepsVMHost {
				t.Errorf("%s\nMAAS has the VM host: %t, want %t", tc.reason, got, tc.keepsVMHost)
			}
			m, ok := h.sim.Machine(h.machine)
			if !ok {
				t.Fatalf("%s\nMAAS lost the machine", tc.reason)
			}
			if got := slices.Contains(m.Tags, engine.HostTag); got != tc.fails {
				t.Errorf("%s\nthe machine has the tag: %t, want %t", tc.reason, got, tc.fails)
			}
		})
	}
}

// TestUnregisterDeletedMachine: a machine that MAAS deleted has no tag and no VM host of ours.
func TestUnregisterDeletedMachine(t *testing.T) {
	t.Parallel()
	h := newFormerHost(t, false)
	if err := h.choice.lxd.registrar.Unregister(t.Context(), engine.VMHost{MachineID: "absent", Name: "h1"}); err != nil {
		t.Error(err)
	}
}
