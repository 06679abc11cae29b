package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// discoveredZones are those with room, and those that machines of the cluster are
// in, full or not. A control plane may be where there is room for a machine of it.
func (s *clusterScope) discoveredZones(ctx context.Context, have []string, controlPlane infrav1.ResolvedMachine) bool {
	zones, err := s.zonesWithRoom(ctx, controlPlane)
	if err != nil {
		s.failed(infrav1.FailureDomainsReadyCondition, err)
		return false
	}
	s.addInUse(zones, have, controlPlane)
	if !anyOffered(zones) {
		s.set(infrav1.FailureDomainsReadyCondition, no, infrav1.NoCapacityReason, "no zone of MAAS has "+lackOf(controlPlane))
		s.soon(jittered(retryAfter))
		return false
	}
	s.writeZones(s.listable(zones))
	s.zonesReady(len(zones))
	return true
}

// addInUse adds the zones that machines of the cluster are in. Where no zone has
// room for the control plane, or nobody knows what it needs, it keeps those that it
// is in: room comes back where one of its machines goes. A full one beside others
// with room is not offered: KubeadmControlPlane would make machines there that wait
// for ever, as soon as no zone has fewer; it takes its machines away there first
// instead.
func (s *clusterScope) addInUse(zones map[string]bool, have []string, controlPlane infrav1.ResolvedMachine) {
	keeps := controlPlane.Mode == "" || !anyOffered(zones)
	for i := range s.machines {
		if zone := s.machines[i].Status.FailureDomain; slices.Contains(have, zone) {
			zones[zone] = zones[zone] || keeps && isControlPlane(&s.machines[i])
		}
	}
}

// anyOffered tells whether a control plane may be in any of the zones.
func anyOffered(zones map[string]bool) bool {
	return slices.Contains(slices.Collect(maps.Values(zones)), true)
}

// zonesWithRoom are those with room for anything, and whether each has room for a
// machine of the control plane. KubeadmControlPlane takes any that it may, and
// stays there.
func (s *clusterScope) zonesWithRoom(ctx context.Context, controlPlane infrav1.ResolvedMachine) (map[string]bool, error) {
	zones := map[string]bool{}
	found, err := s.site.Zones.ZonesWithRoom(ctx, engine.ZoneNeed{})
	if err != nil {
		return nil, err
	}
	for _, z := range found {
		zones[z.Zone] = controlPlane.Mode == ""
	}
	need, fits := engine.ZoneNeed{Machines: selector(controlPlane)}, func(z engine.ZoneCapacity) bool { return z.Machines > 0 }
	switch controlPlane.Mode {
	case "":
		return zones, nil
	case infrav1.ProvisioningModeLXD:
		need, fits = roomForVM(controlPlane), func(z engine.ZoneCapacity) bool { return z.Hosts > 0 }
	}
	found, err = s.site.Zones.ZonesWithRoom(ctx, need)
	for _, z := range found {
		zones[z.Zone] = fits(z)
	}
	return zones, err
}

// roomForVM is what a zone must have for a VM. What cannot be, such as a disk of no
// size, is its machine's to say.
func roomForVM(want infrav1.ResolvedMachine) engine.ZoneNeed {
	need := engine.ZoneNeed{Placement: placement(want), Host: want.VM.Host, Cores: want.Cores, MemoryMiB: want.MemoryMiB, Disks: disks(want.VM)}
	need.Disks = slices.DeleteFunc(need.Disks, func(d engine.Disk) bool { return d.SizeGB < 1 })
	return need
}

// lackOf is what no zone has for a control plane, and what to do about it.
func lackOf(controlPlane infrav1.ResolvedMachine) string {
	const more = "; add one, or name zones in spec.failureDomains"
	switch {
	case controlPlane.Mode == "":
		return "an LXD host with room or a Ready machine" + more
	case controlPlane.VM == nil:
		return "a Ready machine for the control plane" + more
	case controlPlane.VM.Host != "":
		return fmt.Sprintf("the LXD host %s that the control plane's template names, with room for a VM of it (%s); make room there, or take a template that names another host or none",
			controlPlane.VM.Host, size(controlPlane))
	}
	return fmt.Sprintf("an LXD host with room for a VM of the control plane (%s)%s", size(controlPlane), more)
}

// size is how large a VM is, for people.
func size(want infrav1.ResolvedMachine) string {
	parts := []string{fmt.Sprintf("cores: %d, memory: %d MiB", want.Cores, want.MemoryMiB)}
	for _, d := range want.VM.Disks {
		part := fmt.Sprintf("disk: %d GB", d.SizeGB)
		if d.Pool != "" {
			part += " of the storage pool " + d.Pool
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
