package lxd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// addedNICConfig begins the config keys of NICs that were added to an instance after it was
// made. Example: "user.maaslxd.interface.eth1" is "storage 00:16:3e:00:00:01 dhcp
// 10.77.0.0/24": label, MAC, mode and subnet. LXD writes this note together with the
// device. So a run that is cut off leaves both or neither.
const addedNICConfig = "user.maaslxd.interface."

// ChangeInterfaces implements engine.Composer. LXD plugs NICs into a running VM.
func (c *Composer) ChangeInterfaces(ctx context.Context, host engine.VMHost, systemID string, want engine.InterfaceChange) error {
	all, err := c.inventoryForHost(ctx, host)
	if err != nil {
		return err
	}
	h, err := all.surveyOf(host)
	if err != nil {
		return err
	}
	n := nicChange{Composer: c, host: h, systemID: systemID, takenMACs: all.takenMACs(""), want: want}
	return changeInstance(ctx, c, host, systemID, func(s *session, at location) ([]string, error) { return n.changeNICs(ctx, s, at) })
}

// nicChange is a change to the NICs of an instance.
type nicChange struct {
	*Composer
	host      serverSurvey
	systemID  string
	takenMACs map[string]bool // MACs in the fleet
	want      engine.InterfaceChange
}

// changeNICs adds and removes the NICs. LXD plugs a NIC into the PCI port that it would
// have after a start. The port follows from the NIC's place among the names of all NICs.
//
// The lowest free name has the port of a NIC that was unplugged since the start. After a
// start the ports have no gap, and the name after all others has a free port. LXD does not
// show whether the VM has started since, so changeNICs tries both names.
func (n nicChange) changeNICs(ctx context.Context, s *session, at location) ([]string, error) {
	changed, err := n.changeNICsNamedBy(ctx, s, at, lowestFreeNIC)
	if plug, refused := errors.AsType[*plugError](err); refused && plug.hasGap {
		changed, err = n.changeNICsNamedBy(ctx, s, at, lastFreeNIC)
	}
	plug, refused := errors.AsType[*plugError](err)
	switch {
	case !refused:
		return changed, err
	case !plug.mayLackPort: // the VM goes on running for any other cause
		return nil, &engine.Error{
			Type: engine.VMCreationFailed, Message: fmt.Sprintf("the LXD at %s cannot change the interfaces while the VM runs: %s", s.target.address, shortMessage(plug.Error())),
			Hint: "Stop the VM, or restart it.", Ways: []engine.Way{engine.WayRetry}, Err: engine.ErrInvalid,
		}
	default:
		return nil, &engine.RunningError{Refusal: &engine.Refusal{
			Message: fmt.Sprintf("%s runs, and must be stopped to change its interfaces: the LXD at %s refused it with %s", at.instance, s.target.address, shortMessage(plug.Error())),
			Hint:    "Turn the machine off first; its disks are kept.", Err: engine.ErrConflict,
		}}
	}
}

// sparePorts is the number of NICs that LXD can add to a VM while it runs: it makes so many free PCI
// ports at the start (lxd/instance/drivers/driver_qemu.go, generateQemuConfigFile).
const sparePorts = 4

// plugError says that LXD refused to plug NICs into a running VM.
type plugError struct {
	error
	hasGap      bool // another name for the NIC may work
	mayLackPort bool // the VM has more added NICs than free ports, unless it was started since
}

// changeNICsNamedBy reads the instance, and writes it if something is missing. free chooses
// the names of new NICs.
func (n nicChange) changeNICsNamedBy(ctx context.Context, s *session, at location, free func(taken map[string]bool) string) ([]string, error) {
	path := s.projectPath("instances", at.instance)
	have, r, err := readForEdit(s, path, at)
	if err != nil {
		return nil, err
	}
	added := addedNICs(have)
	n.takenMACs = n.macsOfOthers(added)
	for _, label := range n.want.Removed {
		if nic, isThere := added[label]; isThere {
			r.noteRemovedNIC(label, nic)
		}
	}
	taken := r.deviceNames(have)
	hasGap := lowestFreeNIC(taken) != lastFreeNIC(taken)
	for _, nic := range n.want.Added {
		was, isThere := added[nic.Label]
		if !isThere {
			if was.Device = free(taken); was.Device == "" {
				return nil, tooManyNICsError(nic, have)
			}
			taken[was.Device] = true
		}
		if err := n.noteNIC(ctx, r, nic, was); err != nil {
			return nil, err
		}
	}
	err = r.sendAll(s, path)
	if change, refused := errors.AsType[*changeRefusedError](err); refused && mayBeBusy(change.err) && have.StatusCode != api.Stopped {
		return nil, &plugError{err, hasGap, len(addedNICs(api.Instance{Config: r.put.Config, Devices: r.put.Devices})) > sparePorts}
	}
	return r.changes, err
}

// macsOfOthers returns the MACs of other instances and of NICs that stay. A NIC that is
// removed, or gets another MAC, frees its MAC for another NIC of the same change.
func (n nicChange) macsOfOthers(added map[string]engine.AddedNIC) map[string]bool {
	taken := maps.Clone(n.takenMACs)
	for _, label := range n.want.Removed {
		delete(taken, added[label].MAC)
	}
	for _, nic := range n.want.Added {
		if was := added[nic.Label].MAC; nic.MAC != "" && nic.MAC != was {
			delete(taken, was)
		}
	}
	return taken
}

// tooManyNICsError says that all NIC names are taken.
func tooManyNICsError(nic engine.NIC, have api.Instance) error {
	return &engine.SpecError{
		Field: engine.Interface{Name: nic.Label}.Field(), Message: fmt.Sprintf("%s has NICs from eth0 to eth%d already", have.Name, maxNIC),
		Hint: "Remove an interface, or replace the VM by a new one with all of them.", Err: engine.ErrConflict,
	}
}

// noteNIC notes a NIC that is new, or one that was added before and changes. A changed NIC
// keeps its device. It keeps its MAC unless another one is wanted.
func (n nicChange) noteNIC(ctx context.Context, r *instanceEdit, nic engine.NIC, was engine.AddedNIC) error {
	if nic.Bridge == "" && nic.CIDR == was.Subnet {
		nic.Bridge = was.Bridge
	}
	bridge, err := n.host.findBridge(nic)
	if err != nil {
		return err
	}
	wanted := engine.AddedNIC{
		Device: was.Device, MAC: cmp.Or(nic.MAC, was.MAC), Bridge: bridge, Subnet: nic.CIDR, Mode: nic.Mode,
	}
	if wanted == was {
		return nil
	}
	if wanted.MAC != was.MAC || wanted.MAC == "" {
		if wanted.MAC, err = n.chooseMAC(ctx, nic, wanted.Device); err != nil {
			return err
		}
	}
	n.takenMACs[wanted.MAC] = true
	device := n.host.nicDevice(wanted.Device, bridge)
	device["hwaddr"] = wanted.MAC
	maps.DeleteFunc(r.put.Config, func(key, note string) bool { // also the note of a NIC that was detached by hand
		return strings.HasPrefix(key, addedNICConfig) && strings.HasPrefix(note, nic.Label+" ")
	})
	r.put.Devices[wanted.Device], r.put.Config[addedNICConfig+wanted.Device] = device, formatNICNote(nic.Label, wanted)
	r.noteEdit("interface "+nic.Label, true)
	return nil
}

// chooseMAC returns the MAC that is wanted for a NIC, or a free one in LXD's own range. LXD
// starts only one of two VMs with the same MAC, and MAAS finds machines by their MACs.
func (n nicChange) chooseMAC(ctx context.Context, nic engine.NIC, device string) (string, error) {
	p := plan{host: n.host, comp: engine.Composition{Marker: engine.MarkerOf(n.want.Key), Interfaces: []engine.NIC{nic}}, taken: n.takenMACs}
	if err := p.checkWantedMACs(); err != nil {
		return "", err
	}
	number, _ := strconv.Atoi(strings.TrimPrefix(device, nicPrefix))
	for salt := range maxMACTries {
		p.macs = []string{cmp.Or(nic.MAC, p.generateMAC(number, salt))}
		if n.takenMACs[p.macs[0]] {
			continue
		}
		machines, err := n.Enlister.MachinesWithMACs(ctx, p.macs...)
		if err != nil {
			return "", err
		}
		machines = slices.DeleteFunc(machines, func(m engine.Machine) bool { return m.SystemID == n.systemID })
		if len(machines) == 0 {
			return p.macs[0], nil
		}
		if err := wantedMACTakenError(&p, machines); err != nil {
			return "", err
		}
	}
	return "", &engine.SpecError{
		Field: nic.Field("mac_address"), Message: "other machines have all MAC addresses that were tried for this interface",
		Hint: "Choose one.", Err: engine.ErrConflict,
	}
}

// noteRemovedNIC removes a NIC and its note.
func (r *instanceEdit) noteRemovedNIC(label string, nic engine.AddedNIC) {
	delete(r.put.Devices, nic.Device)
	delete(r.put.Config, addedNICConfig+nic.Device)
	r.noteEdit("interface "+label, true)
}

// deviceNames returns the names of the devices that stay, including those of profiles.
func (r *instanceEdit) deviceNames(have api.Instance) map[string]bool {
	names := map[string]bool{}
	for name := range have.ExpandedDevices {
		_, isOwn := have.Devices[name]
		names[name] = !isOwn
	}
	for name := range r.put.Devices {
		names[name] = true
	}
	return names
}

// nicPrefix begins the names of the NICs that we make. maxNIC is the number of the last
// one: LXD sorts names as texts, so eth10 would come before eth2.
const (
	nicPrefix = "eth"
	maxNIC    = 9
)

// nicName returns the name of the NIC with this number, as "eth0".
func nicName(n int) string { return nicPrefix + strconv.Itoa(n) }

// lowestFreeNIC returns the first NIC name that no device has; empty if there is none.
func lowestFreeNIC(taken map[string]bool) string {
	for n := range maxNIC + 1 {
		if name := nicName(n); !taken[name] {
			return name
		}
	}
	return ""
}

// lastFreeNIC returns the NIC name that comes after all others. If there is none, it
// returns the first free name.
func lastFreeNIC(taken map[string]bool) string {
	free := ""
	for n := range maxNIC + 1 {
		switch name := nicName(n); {
		case taken[name]:
			free = ""
		case free == "":
			free = name
		}
	}
	return cmp.Or(free, lowestFreeNIC(taken))
}

func formatNICNote(label string, nic engine.AddedNIC) string {
	return strings.Join([]string{label, nic.MAC, nic.Mode, nic.Subnet}, " ")
}

// addedNICs returns the NICs that were added to an instance after it was made, by label. A
// note does not count if its device is gone or has another MAC: someone detached the NIC.
func addedNICs(i api.Instance) map[string]engine.AddedNIC {
	added := map[string]engine.AddedNIC{}
	for _, key := range slices.Sorted(maps.Keys(i.Config)) {
		device, isNote := strings.CutPrefix(key, addedNICConfig)
		note := strings.Fields(i.Config[key])
		d := i.Devices[device]
		if !isNote || len(note) != 4 || d["type"] != "nic" || d["hwaddr"] != note[1] {
			continue
		}
		added[note[0]] = engine.AddedNIC{
			Device: device, MAC: note[1], Mode: note[2], Subnet: note[3], Bridge: cmp.Or(d["parent"], d["network"]),
		}
	}
	return added
}
