package lxd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// addedConfig begins the options that tell which NICs an instance got after it was made:
// "user.maaslxd.interface.eth1" is "storage 00:16:3e:00:00:01 dhcp 10.77.0.0/24", its label, MAC,
// mode, subnet, and the address that was wanted, if any. LXD writes the note together with the
// device. So a run that is cut off leaves both, or none.
const addedConfig = "user.maaslxd.interface."

// ChangeInterfaces implements engine.Composer. LXD plugs NICs into a VM that runs.
func (c *Composer) ChangeInterfaces(ctx context.Context, host engine.VMHost, systemID string, want engine.InterfaceChange) error {
	all, err := c.lately(ctx, host)
	if err != nil {
		return err
	}
	h, err := all.reached(host)
	if err != nil {
		return err
	}
	n := nicChange{Composer: c, host: h, systemID: systemID, taken: all.macs(""), want: want}
	return changeInstance(ctx, c, host, systemID, func(s *session, at place) ([]string, error) { return n.change(ctx, s, at) })
}

// nicChange is a change of the NICs of an instance.
type nicChange struct {
	*Composer
	host     seen
	systemID string
	taken    map[string]bool // MACs in the fleet
	want     engine.InterfaceChange
}

// change reads the instance, and writes it where it lacks something.
func (n nicChange) change(ctx context.Context, s *session, at place) ([]string, error) {
	path := s.at("instances", at.instance)
	have, r, err := beginChange(s, path, at)
	if err != nil {
		return nil, err
	}
	added := addedNICs(have)
	for _, label := range n.want.Removed {
		if nic, there := added[label]; there {
			r.dropNIC(label, nic)
			delete(n.taken, nic.MAC)
		}
	}
	for _, nic := range n.want.Added {
		was, there := added[nic.Label]
		if !there {
			was.Device = freeNIC(have.ExpandedDevices, r.put.Devices)
		}
		if err := n.add(ctx, r, nic, was); err != nil {
			return nil, err
		}
	}
	return r.changes, r.send(s, path)
}

// add notes a NIC that comes, or one that was added before and is to be another one. That
// keeps its device and, unless it is to have another one, its MAC.
func (n nicChange) add(ctx context.Context, r *resizing, nic engine.NIC, was engine.AddedNIC) error {
	if nic.Bridge == "" && nic.CIDR == was.Subnet {
		nic.Bridge = was.Bridge
	}
	bridge, err := n.host.bridgeInto(nic)
	if err != nil {
		return err
	}
	wanted := engine.AddedNIC{
		Device: was.Device, MAC: cmp.Or(nic.MAC, was.MAC), Bridge: bridge, Subnet: nic.CIDR, Mode: nic.Mode, IP: nic.IP,
	}
	if wanted == was {
		return nil
	}
	if wanted.MAC != was.MAC || wanted.MAC == "" {
		if wanted.MAC, err = n.freeMAC(ctx, nic, wanted.Device); err != nil {
			return err
		}
	}
	device := n.host.nicDevice(wanted.Device, bridge)
	device["hwaddr"] = wanted.MAC
	r.put.Devices[wanted.Device], r.put.Config[addedConfig+wanted.Device] = device, noteOfNIC(nic.Label, wanted)
	r.note("interface "+nic.Label, true)
	return nil
}

// freeMAC is the MAC that is wanted for a NIC, or one in LXD's own range that nobody has. LXD starts
// only one of two VMs with the same MAC, and MAAS finds machines by their MACs.
func (n nicChange) freeMAC(ctx context.Context, nic engine.NIC, device string) (string, error) {
	p := plan{host: n.host, comp: engine.Composition{Marker: engine.MarkerOf(n.want.Key), Interfaces: []engine.NIC{nic}}, taken: n.taken}
	if err := p.checkWantedMACs(); err != nil {
		return "", err
	}
	number, _ := strconv.Atoi(strings.TrimPrefix(device, nicPrefix))
	for salt := range maxSalts {
		p.macs = []string{cmp.Or(nic.MAC, p.saltedMAC(number, salt))}
		if n.taken[p.macs[0]] {
			continue
		}
		machines, err := n.Enlister.Enlisted(ctx, p.macs...)
		if err != nil {
			return "", err
		}
		machines = slices.DeleteFunc(machines, func(m engine.Machine) bool { return m.SystemID == n.systemID })
		if len(machines) == 0 {
			return p.macs[0], nil
		}
		if err := wantedMACTaken(&p, machines); err != nil {
			return "", err
		}
	}
	return "", &engine.SpecError{
		Field: nic.Field("mac_address"), Message: "other machines have all MAC addresses that were tried for it",
		Hint: "Choose one.", Err: engine.ErrConflict,
	}
}

// dropNIC notes a NIC that goes, with what tells of it.
func (r *resizing) dropNIC(label string, nic engine.AddedNIC) {
	delete(r.put.Devices, nic.Device)
	delete(r.put.Config, addedConfig+nic.Device)
	r.note("interface "+label, true)
}

// nicPrefix begins the names of the NICs that are made here.
const nicPrefix = "eth"

// freeNIC is the device that comes after all NICs, also those of profiles.
func freeNIC(all ...map[string]map[string]string) string {
	last := 0 // a VM has one NIC at least
	for _, devices := range all {
		for name := range devices {
			if n, err := strconv.Atoi(strings.TrimPrefix(name, nicPrefix)); err == nil && strings.HasPrefix(name, nicPrefix) {
				last = max(last, n)
			}
		}
	}
	return nicPrefix + strconv.Itoa(last+1)
}

func noteOfNIC(label string, nic engine.AddedNIC) string {
	return strings.TrimSpace(strings.Join([]string{label, nic.MAC, nic.Mode, nic.Subnet, nic.IP}, " "))
}

// addedNICs are the NICs that an instance got after it was made, by their labels. A note whose
// device is gone, or has another MAC, tells of none: somebody took the device away.
func addedNICs(i api.Instance) map[string]engine.AddedNIC {
	added := map[string]engine.AddedNIC{}
	for _, key := range slices.Sorted(maps.Keys(i.Config)) {
		device, isNote := strings.CutPrefix(key, addedConfig)
		note := append(strings.Fields(i.Config[key]), "")
		d := i.Devices[device]
		if !isNote || len(note) < 5 || d["type"] != "nic" || d["hwaddr"] != note[1] {
			continue
		}
		added[note[0]] = engine.AddedNIC{
			Device: device, MAC: note[1], Mode: note[2], Subnet: note[3], IP: note[4], Bridge: cmp.Or(d["parent"], d["network"]),
		}
	}
	return added
}
