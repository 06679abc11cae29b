package assembly_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// nic is an interface of a machine as MAAS shows it.
type nic struct {
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Parents []string `json:"parents"`
	Links   []struct {
		ID     int    `json:"id"`
		Mode   string `json:"mode"`
		Subnet struct {
			CIDR string `json:"cidr"`
		} `json:"subnet"`
	} `json:"links"`
}

func (r testMAAS) nics(t *testing.T, hostname string) (list []nic) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.call(t, "GET", "nodes/"+r.machine(t, hostname).SystemID+"/interfaces/", nil)), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// makeOperatorBridge makes a bridge as an operator would; linked to the subnet of that
// name, or not at all.
func (r testMAAS) makeOperatorBridge(t *testing.T, hostname, name, subnet string) {
	t.Helper()
	path := "nodes/" + r.machine(t, hostname).SystemID + "/interfaces/"
	nics := r.nics(t, hostname)
	r.call(t, "POST", path+"?op=create_bridge", url.Values{"name": {name}, "parent": {strconv.Itoa(nics[0].ID)}})
	if subnet != "" {
		made := r.nics(t, hostname)
		i := slices.IndexFunc(made, func(n nic) bool { return n.Name == name })
		r.call(t, "POST", path+strconv.Itoa(made[i].ID)+"/?op=link_subnet", url.Values{"mode": {"AUTO"}, "subnet": {subnet}})
	}
	r.sim.ResetJournal()
}

// unlinkNIC leaves the machine's NIC without a subnet, as commissioning leaves those
// that it found no address on.
func (r testMAAS) unlinkNIC(t *testing.T, hostname string) {
	t.Helper()
	n := r.nics(t, hostname)[0]
	path := "nodes/" + r.machine(t, hostname).SystemID + "/interfaces/" + strconv.Itoa(n.ID) + "/"
	r.call(t, "POST", path+"?op=unlink_subnet", url.Values{"id": {strconv.Itoa(n.Links[0].ID)}})
	r.sim.ResetJournal()
}

func TestHostBridge(t *testing.T) {
	const create, link = "POST nodes/{id}/interfaces/ create_bridge", "POST nodes/{id}/interfaces/{nic}/ link_subnet"
	nothing := func(*testing.T, testMAAS) {}
	unlinked := func(t *testing.T, r testMAAS) { r.unlinkNIC(t, "m1") }
	cases := map[string]struct {
		reason string
		first  func(*testing.T, testMAAS)
		want   engine.BridgeSpec
		writes []string
	}{
		"Made":              {"There is none yet.", nothing, engine.BridgeSpec{Name: "br0"}, []string{create}},
		"UnlinkedNIC":       {"There is one subnet on its VLAN.", unlinked, engine.BridgeSpec{Name: "br0"}, []string{create, link}},
		"UnlinkedNICSubnet": {"The NIC has none.", unlinked, engine.BridgeSpec{Name: "br0", Subnet: "lan"}, []string{create, link}},
		"NamedNIC":          {"The interface is named.", nothing, engine.BridgeSpec{Name: "br-lan", NIC: "eth0"}, []string{create}},
		"Subnet":            {"By name.", nothing, engine.BridgeSpec{Name: "br0", Subnet: "lan"}, []string{create}},
		"CIDR":              {"By CIDR.", nothing, engine.BridgeSpec{Name: "br0", Subnet: "10.77.0.0/24"}, []string{create}},
		"Kept":              {"It is there from an earlier life.", func(t *testing.T, r testMAAS) { r.makeOperatorBridge(t, "m1", "br0", "lan") }, engine.BridgeSpec{Name: "br0"}, nil},
		"Unlinked":          {"A run died between the two calls.", func(t *testing.T, r testMAAS) { r.makeOperatorBridge(t, "m1", "br0", "") }, engine.BridgeSpec{Name: "br0"}, []string{link}},
		"LongestName":       {"As long as Linux takes it.", nothing, engine.BridgeSpec{Name: "br-123456789012"}, []string{create}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				tc.first(t, r)
				spec := metalHost()
				spec.Bridge = &tc.want
				h, err := p.applyHost(newHostRef, spec)
				if err != nil {
					t.Fatal(err)
				}
				writes := slices.DeleteFunc(r.writes(), func(w string) bool { return !strings.Contains(w, "interfaces/") })
				if !slices.Equal(writes, tc.writes) {
					t.Errorf("%s\ngot %v, want %v", tc.reason, writes, tc.writes)
				}
				i := slices.IndexFunc(h.Machine.Bridges, func(b engine.MachineBridge) bool { return b.Name == tc.want.Name })
				if i < 0 || len(h.Machine.Bridges[i].Links) != 1 || h.Machine.Bridges[i].Links[0].IP == "" {
					t.Errorf("%s\nwant %s with an address, got %+v", tc.reason, tc.want.Name, h.Machine.Bridges)
				}
				r.wantRecord(t, "m1")
			})
		})
	}
}

// TestHostBridgeRefused wants one clear error before anything is installed.
func TestHostBridgeRefused(t *testing.T) {
	nothing := func(*testing.T, testMAAS) {}
	cases := map[string]struct {
		reason string
		first  func(*testing.T, testMAAS)
		want   engine.BridgeSpec
		field  string
		words  string
	}{
		"NoName":      {"MAAS wants one.", nothing, engine.BridgeSpec{}, "bridge.name", "name"},
		"LongName":    {"MAAS takes 16, and Linux does not.", nothing, engine.BridgeSpec{Name: "br-1234567890123"}, "bridge.name", "16"},
		"BadName":     {"With a space.", nothing, engine.BridgeSpec{Name: "br 0"}, "bridge.name", "br 0"},
		"TakenByNIC":  {"The name is a NIC's.", nothing, engine.BridgeSpec{Name: "eth0"}, "bridge.name", "eth0"},
		"OtherBridge": {"The NIC is below another bridge.", func(t *testing.T, r testMAAS) { r.makeOperatorBridge(t, "m1", "br9", "lan") }, engine.BridgeSpec{Name: "br0"}, "bridge.name", "br9"},
		"NoNIC":       {"There is no such NIC.", nothing, engine.BridgeSpec{Name: "br0", NIC: "eth7"}, "bridge.nic", "eth7"},
		"NoSubnet":    {"There is no such subnet.", nothing, engine.BridgeSpec{Name: "br0", Subnet: "nosuch"}, "bridge.subnet", "nosuch"},
		"OtherSubnet": {"The bridge takes the NIC's link over.", func(t *testing.T, r testMAAS) {
			r.call(t, "POST", "subnets/", url.Values{"name": {"spare"}, "cidr": {"10.89.0.0/24"}})
		}, engine.BridgeSpec{Name: "br0", Subnet: "spare"}, "bridge.subnet", "eth0 of m1 is linked to 10.77.0.0/24"},
		"NoDHCP": {"VMs could not boot.", func(t *testing.T, r testMAAS) { r.unlinkNIC(t, "m1") }, engine.BridgeSpec{Name: "br0", Subnet: "dark"}, "bridge.subnet", "DHCP"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				tc.first(t, r)
				spec := metalHost()
				spec.Bridge = &tc.want
				h, err := p.applyHost(newHostRef, spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != tc.field || bad.Hint == "" || !strings.Contains(err.Error(), tc.words) {
					t.Errorf("%s\nwant an error about %s that says %s, with a hint, got %v", tc.reason, tc.field, tc.words, err)
				}
				for _, w := range r.writes() {
					if w != "POST subnets/" && !strings.HasSuffix(w, " allocate") && !strings.HasSuffix(w, " set_owner_data") {
						t.Errorf("%s\n%s was sent", tc.reason, w)
					}
				}
				if err := p.deleteHost(engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID}); err != nil {
					t.Error(err)
				}
				r.wantReady(t, "m1")
			})
		})
	}
}

// TestHostNoBridge: none is asked for, none is made.
func TestHostNoBridge(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		spec := metalHost()
		spec.Bridge, spec.LXD.Networks = nil, map[string]cloudinit.Network{"eth0": {Kind: cloudinit.Macvlan, Parent: "eth0"}}
		h, err := p.applyHost(newHostRef, spec)
		if err != nil || len(h.Machine.Bridges) != 0 {
			t.Errorf("got %+v, %v", h.Machine.Bridges, err)
		}
		r.wantRecord(t, "m1")
	})
}

// TestHostUserData hands the first boot's text to MAAS, without a secret.
func TestHostUserData(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		spec := metalHost()
		spec.DefaultStoragePool = ""
		spec.Machine.Deploy.UserData = []byte("#!/bin/sh\necho mine\n")
		h, err := p.applyHost(newHostRef, spec)
		if err != nil {
			t.Fatal(err)
		}
		r.wantRecord(t, "m1")
		if got, err := r.sim.UserData(h.Machine.SystemID); err != nil || !strings.Contains(string(got), "echo mine") || strings.Contains(string(got), "PRIVATE KEY") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
