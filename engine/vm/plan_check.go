package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/engine/inplace"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// obstacles implements Kind.Check. A spec without Host and without a Strategy of Placement
// leaves the host open.
func (v *createChecks) obstacles(ctx context.Context, ref engine.Ref, want engine.VMSpec) engine.Obstacles {
	var o engine.Obstacles
	if o.Add(v.CheckMayCompose(ctx)); !o.IsEmpty() {
		return o // no VM can be made at all
	}
	for _, n := range v.namesOf(want) {
		o.Add(v.updater.CheckName(ctx, n))
	}
	o.Add(v.CheckImage(ctx, want.Deploy))
	v.interfaceObstacles(ctx, &o, ref, want)
	begun := v.nameObstacles(ctx, &o, ref, want)
	v.addedObstacles(ctx, &o, ref, want.AddedInterfaces)
	if ref.SystemID != "" && want.Host == "" && want.Placement.Strategy == "" && want.Deploy != nil { // it is installed where it is
		m, err := v.Machines.Machine(ctx, ref.SystemID)
		if err == nil {
			err = checkImageForVM(ctx, v.Config, m, want.Deploy)
		}
		o.Add(err)
	}
	leavingID := cmp.Or(ref.SystemID, begun)
	switch {
	case want.Host != "":
		v.hostObstacles(ctx, &o, leavingID, want)
	case want.Placement.Strategy != "" && len(o.Permanent) == 0:
		leaving, err := v.maker.FindLeavingVM(ctx, leavingID)
		if err == nil {
			err = v.maker.CheckPlaced(ctx, ref.Key, want, leaving)
		}
		o.Add(err)
	}
	return o
}

func (v *createChecks) interfaceObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, want engine.VMSpec) {
	for n, i := range want.Interfaces {
		if i.Network().IsEmpty() {
			continue
		}
		v.macObstacle(ctx, o, ref, i)
		links, err := v.resolveLinks(ctx, i)
		if err == nil && n == 0 {
			err = links[0].subnet.CheckDHCP(i.Field())
		}
		if err != nil {
			o.Add(err)
			continue
		}
		for _, l := range links {
			v.addressObstacle(ctx, o, ref, l)
		}
	}
}

// macObstacle looks for another machine that has the wanted MAC of an interface.
func (v *createChecks) macObstacle(ctx context.Context, o *engine.Obstacles, ref engine.Ref, i engine.Interface) {
	if i.MAC == "" {
		return
	}
	holders, err := v.Machines.MachinesWhere(ctx, engine.MachineFilter{MAC: i.MAC})
	o.Add(err)
	for _, m := range holders {
		if m.SystemID == ref.SystemID || compose.AsVM(m, ref.Key).Ours {
			continue
		}
		o.AddHeldBy(m, &engine.SpecError{
			Field: i.Field("mac_address"), Message: fmt.Sprintf("machine %s (system id %s) has the MAC address %s in MAAS", m.Hostname, m.SystemID, i.MAC),
			Hint: "Choose another one, or remove it.", Err: engine.ErrConflict,
		})
	}
}

// bridgeObstacles looks for the bridges that interfaces must join.
func (v *createChecks) bridgeObstacles(ctx context.Context, o *engine.Obstacles, host engine.VMHost, interfaces []engine.Interface) {
	if host.MachineID == "" || !slices.ContainsFunc(interfaces, func(i engine.Interface) bool { return i.Bridge != "" }) {
		return
	}
	m, err := v.Machines.Machine(ctx, host.MachineID)
	if err != nil {
		o.Add(err)
		return
	}
	var known []string
	for _, b := range m.Bridges {
		known = append(known, b.Name)
	}
	for _, i := range interfaces {
		if i.Bridge != "" && !slices.Contains(known, i.Bridge) {
			o.Add(engine.UnknownNameError(i.Field("bridge"), "bridge on host "+host.Name, i.Bridge, known))
		}
	}
}

// addedObstacles checks whether interfaces can be added to a VM in place.
func (v *createChecks) addedObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, added []engine.Interface) {
	for _, i := range added {
		if i.Network().IsEmpty() {
			continue
		}
		v.macObstacle(ctx, o, ref, i)
		_, err := v.addedNIC(ctx, i)
		o.Add(err)
	}
	if len(added) == 0 {
		return
	}
	m, err := v.Machines.Machine(ctx, ref.SystemID)
	if err != nil {
		o.Add(err)
		return
	}
	on, err := v.Composer.HostOf(ctx, m)
	o.Add(err)
	v.bridgeObstacles(ctx, o, on, added)
	o.Add(v.maker.CheckNetworks(ctx, on, added))
}

// addressObstacle checks whether a link can have its fixed address.
func (v *createChecks) addressObstacle(ctx context.Context, o *engine.Obstacles, ref engine.Ref, l resolvedLink) {
	if !l.IP.IsValid() {
		return
	}
	use, err := v.LookUpAddress(ctx, l.Field.Child("ip"), l.subnet, l.IP)
	switch {
	case err != nil:
		o.Add(err)
	case use.Purpose == engine.AddressFree, ref.SystemID != "" && use.SystemID == ref.SystemID:
	case use.SystemID == "":
		o.Add(use.UnusableError(l.Field.Child("ip"), l.IP))
	default:
		holder, err := v.Machines.Machine(ctx, use.SystemID)
		if err == nil || errors.Is(err, engine.ErrNotFound) {
			o.AddHeldBy(holder, use.UnusableError(l.Field.Child("ip"), l.IP))
			return
		}
		o.Add(err)
	}
}

// nameObstacles looks for another machine of the name. It returns the system id of the VM with
// the mark of the key; empty: there is none. An unfinished one is no obstacle: an earlier run
// left it, and the apply continues with it.
func (v *createChecks) nameObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, want engine.VMSpec) (begun string) {
	if want.Name == "" || ref.SystemID != "" && want.Name == ref.Name {
		return ""
	}
	named, err := v.Machines.MachinesNamed(ctx, want.Name)
	o.Add(err)
	for _, m := range named {
		own := compose.AsVM(m, ref.Key)
		switch {
		case m.SystemID == ref.SystemID:
		case own.Ours && !engine.WasFinishedOnce(m):
			begun = m.SystemID
		case ref.SystemID != "" && !own.Ours:
			taken := inplace.HostnameTakenError(fieldpath.New("name"), want.Name, m)
			taken.Ways = nil // nothing has been applied yet
			o.AddHeldBy(m, taken)
		case own.Ours:
			begun = m.SystemID
			o.AddHeldBy(m, finishedBeforeError(want.Name, m))
		default:
			o.AddHeldBy(m, compose.NameTakenError(want.Name, m, ""))
		}
	}
	return begun
}

// hostObstacles looks at the named host, and whether the VM fits on it. The room of the VM with
// the system id leavingID counts as free.
func (v *createChecks) hostObstacles(ctx context.Context, o *engine.Obstacles, leavingID string, want engine.VMSpec) {
	host, err := v.maker.FindHost(ctx, want.Host)
	if err != nil {
		o.Add(err)
		return
	}
	if !host.IsInventoryKnown() {
		o.Add(&engine.Error{
			Type: engine.HostUnavailable, Host: host.Name, Message: "what it has free is not known: " + host.InventoryUnknownReason(),
			Hint: host.InventoryUnknownHint(), Ways: []engine.Way{engine.WayLookAgain},
		})
		return
	}
	usable := host.UsableError()
	if host.HasLostMachine() && usable != nil { // the apply restores its machine
		o.Temporary, usable = append(o.Temporary, usable), nil
	}
	o.Add(errors.Join(compose.CheckPlacement(host, want.Placement), usable))
	_, err = v.maker.FindHostProjects(ctx, []engine.VMHost{host}, want.Placement.Project)
	o.Add(err)
	o.Add(v.maker.CheckImageForHost(ctx, host, want.Deploy))
	leaving, err := v.maker.FindLeavingVM(ctx, leavingID)
	if err != nil {
		o.Add(err)
		return
	}
	host = leaving.HostWithoutVM(host)
	for _, err := range []error{host.CheckInstance(want), compose.CheckRoom(host, want), compose.CheckPoolRoom(host, want.Disks)} {
		o.Add(err)
	}
	v.bridgeObstacles(ctx, o, host, want.Interfaces)
	o.Add(v.maker.CheckNetworks(ctx, host, want.Interfaces))
}

// checkImageForVM refuses an image that MAAS does not have for the architecture of an existing
// VM. MAAS itself refuses it only once the VM is released.
func checkImageForVM(ctx context.Context, c engine.Config, m engine.Machine, d *engine.Deployment) error {
	if m.Architecture == "" {
		return nil
	}
	known, err := c.OtherArchitectures(ctx, m.Architecture, d)
	if err != nil || len(known) == 0 {
		return err
	}
	return &engine.SpecError{
		Field:   fieldpath.New("deploy", "image"),
		Message: fmt.Sprintf("VM %s has the architecture %s, but MAAS has %s for %s only", m.Hostname, m.Architecture, d.ImageText(), strings.Join(known, ", ")),
		Hint:    fmt.Sprintf("Name an image that MAAS has for %s, or import this image for it in MAAS.", placement.ShortArchitecture(m.Architecture)), Err: engine.ErrConflict,
	}
}
