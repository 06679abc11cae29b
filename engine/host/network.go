package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
)

// ensureNetworkSpec makes sure that MAAS has the wanted bonds, VLAN interfaces and bridges on
// the allocated machine, with their links. It uses existing interfaces. It notes new ones in
// the machine's description before it makes them, so that the release removes them.
func (h *networkSteps) ensureNetworkSpec(ctx context.Context, m engine.Machine, want *engine.NetworkSpec) (engine.Machine, error) {
	plan, err := h.planNetwork(ctx, m, want)
	if err != nil {
		return m, err
	}
	if plan.hasLeftovers(m) { // from an earlier spec, or an earlier use of the machine
		if m, err = h.RestoreNetwork(ctx, m); err != nil {
			return m, err
		}
	}
	if m, err = h.NoteNetwork(ctx, m, plan.namesToMake(), plan.changedNICs()); err != nil {
		return m, err
	}
	for _, i := range plan.interfaces {
		if m, err = h.makeInterface(ctx, m, i); err != nil {
			return m, err
		}
	}
	for _, i := range plan.interfaces {
		if m, err = h.linkInterface(ctx, m, i); err != nil {
			return m, err
		}
	}
	return m, nil
}

// makeInterface makes a missing interface.
func (h *networkSteps) makeInterface(ctx context.Context, m engine.Machine, i plannedInterface) (engine.Machine, error) {
	if findChild(m, i.Name) != nil {
		return m, nil
	}
	child := engine.ChildInterfaceRequest{Kind: i.Kind, Name: i.Name, MTU: i.MTU, Bond: i.Bond}
	if i.Kind == engine.ChildVLAN {
		child.VLAN = i.vlan
	}
	for _, p := range i.parentNames {
		child.Parents = append(child.Parents, interfaceID(m, p))
	}
	if err := h.Metal.CreateChild(ctx, m.SystemID, child); err != nil {
		return m, fmt.Errorf("cannot make %s %s on %s: %w", i.Kind, i.Name, m.Hostname, h.RecheckRefusal(ctx, m, err))
	}
	h.Log.InfoContext(ctx, "made interface", "kind", i.Kind, "interface", i.Name, "name", m.Hostname, "system_id", m.SystemID)
	m, err := h.Machines.Machine(ctx, m.SystemID)
	if err == nil && findChild(m, i.Name) == nil {
		err = fmt.Errorf("MAAS does not show %s of %s yet: %w", i.Name, m.Hostname, engine.ErrBusy)
	}
	return m, err
}

// linkInterface gives an interface its links, unless it has them.
func (h *networkSteps) linkInterface(ctx context.Context, m engine.Machine, i plannedInterface) (engine.Machine, error) {
	have := findChild(m, i.Name)
	if have == nil {
		return m, fmt.Errorf("MAAS does not show %s of %s yet: %w", i.Name, m.Hostname, engine.ErrBusy)
	}
	if i.hasLinks(m, have.Links) {
		return m, nil
	}
	for n, l := range i.newLinks {
		l.KeepOthers = n > 0
		if err := h.Machines.LinkInterface(ctx, m.SystemID, have.ID, l); err != nil {
			return m, h.linkError(ctx, m, i, n, err)
		}
	}
	return h.Machines.Machine(ctx, m.SystemID)
}

// linkError says why MAAS did not link an interface.
func (h *networkSteps) linkError(ctx context.Context, m engine.Machine, i plannedInterface, n int, err error) error {
	l := i.newLinks[n]
	err = h.RecheckRefusal(ctx, m, err)
	if n < len(i.Links) && l.IP != "" && (errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrInvalid)) {
		return h.LinkError(ctx, i.LinkField(n).Child("ip"), l.Subnet, i.Links[n].IP, m, err)
	}
	return fmt.Errorf("cannot link %s of %s to %s: %w", i.Name, m.Hostname, l.Subnet.CIDR, err)
}

// networkPlan is a wanted network on a certain machine.
type networkPlan struct {
	machine    engine.Machine // without the interfaces that we made on it
	interfaces []plannedInterface
}

// plannedInterface is a wanted interface with its parents and subnets.
type plannedInterface struct {
	engine.NetworkInterface
	parentNames []string // names of its parents
	vlan        int      // id of its VLAN
	fabric      string
	existing    *engine.ChildInterface // made by others; nil: we must make it
	newLinks    []engine.LinkRequest   // none: it keeps its links
	// takenLinks are the links that a bond takes from its interfaces, for a bridge on it.
	takenLinks []engine.InterfaceLink
}

// namesToMake are the names of the interfaces that we must make.
func (p networkPlan) namesToMake() []string {
	var names []string
	for _, i := range p.interfaces {
		if i.existing == nil {
			names = append(names, i.Name)
		}
	}
	return names
}

// changedNICs are the physical interfaces that change, in their state without our changes.
func (p networkPlan) changedNICs() []engine.MachineInterface {
	return slices.DeleteFunc(slices.Clone(p.machine.Interfaces), func(nic engine.MachineInterface) bool {
		return !slices.ContainsFunc(p.interfaces, func(i plannedInterface) bool { return i.existing == nil && slices.Contains(i.parentNames, nic.Name) })
	})
}

// hasLeftovers tells whether we made something on the machine that differs from the plan.
func (p networkPlan) hasLeftovers(m engine.Machine) bool {
	for _, name := range machine.InterfacesMadeByUs(m) {
		have := findChild(m, name)
		n := slices.IndexFunc(p.interfaces, func(i plannedInterface) bool { return i.Name == name })
		if have != nil && (n < 0 || p.interfaces[n].differenceFrom(*have) != "") {
			return true
		}
	}
	return false
}

// differenceFrom says how an existing interface differs from the wanted one; empty: it does
// not.
func (i plannedInterface) differenceFrom(have engine.ChildInterface) string {
	parents, wanted := slices.Sorted(slices.Values(have.Parents)), slices.Sorted(slices.Values(i.parentNames))
	differ := func(want, is, missing string) bool {
		if is == "" {
			is = missing
		}
		return want != "" && want != is
	}
	switch {
	case have.Kind != i.Kind:
		return fmt.Sprintf("is a %s", have.Kind)
	case !slices.Equal(parents, wanted):
		return fmt.Sprintf("is on %v", parents)
	case i.Kind == engine.ChildVLAN && have.VLAN != i.vlan:
		return fmt.Sprintf("is on VLAN %d of %s", have.VID, have.Fabric)
	case differ(i.Bond.Mode, have.Bond.Mode, "balance-rr"):
		return "has the mode " + have.Bond.Mode
	case differ(i.Bond.LACPRate, have.Bond.LACPRate, "fast"):
		return "has the LACP rate " + have.Bond.LACPRate
	case differ(i.Bond.HashPolicy, have.Bond.HashPolicy, "layer2"):
		return "has the hash policy " + have.Bond.HashPolicy
	case i.MTU != 0 && have.MTU != i.MTU:
		return fmt.Sprintf("has the MTU %d", have.MTU)
	}
	return ""
}

// hasLinks tells whether an interface has the wanted links.
func (i plannedInterface) hasLinks(m engine.Machine, have []engine.InterfaceLink) bool {
	addressed := slices.DeleteFunc(slices.Clone(have), func(l engine.InterfaceLink) bool { return !isAddressed(l) })
	if len(i.newLinks) == 0 {
		return true
	}
	if i.newLinks[0].Mode == engine.LinkUp {
		return len(addressed) == 0
	}
	if len(addressed) != len(i.newLinks) {
		return false
	}
	for _, want := range i.newLinks {
		fits := func(l engine.InterfaceLink) bool {
			return l.Mode == want.Mode && l.Subnet == want.Subnet.CIDR && (want.IP == "" || l.IP == want.IP)
		}
		if !slices.ContainsFunc(addressed, fits) || want.DefaultGateway && !slices.Contains(m.Gateways, want.Subnet.Gateway) {
			return false
		}
	}
	return true
}

// findChild finds a bond, VLAN interface or bridge of the machine, nil if there is none.
func findChild(m engine.Machine, name string) *engine.ChildInterface {
	if n := slices.IndexFunc(m.Children, func(c engine.ChildInterface) bool { return c.Name == name }); n >= 0 {
		return &m.Children[n]
	}
	return nil
}

// interfaceID is the id of an interface of the machine, 0 if there is none of the name.
func interfaceID(m engine.Machine, name string) int {
	if c := findChild(m, name); c != nil {
		return c.ID
	}
	for _, i := range m.Interfaces {
		if i.Name == name {
			return i.ID
		}
	}
	return 0
}
