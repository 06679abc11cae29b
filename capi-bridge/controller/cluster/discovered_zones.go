package cluster

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/demand"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// reconcileDiscoveredZones offers zones with room, and the zones of the
// cluster's machines, full or not. A control plane may be where there is room
// for one of its machines.
func (s failureDomains) reconcileDiscoveredZones(ctx context.Context, have []string, controlPlane infrav1.ResolvedMachine) bool {
	limits := s.site.Limits
	if len(limits.Zones) > 0 { // the limits choose among all zones, below
		have = slices.DeleteFunc(slices.Clone(have), func(zone string) bool { return !slices.Contains(limits.Zones, zone) })
		limits.Zones = nil
	}
	if controlPlane.Mode != "" {
		if err := demand.ApplyLimits(limits, &controlPlane, "", s.maasCluster.Spec.DNSDomain); err != nil {
			s.reportError(infrav1.FailureDomainsReadyCondition, err)
			return false
		}
	}
	if s.controlPlaneSnapshots.recordChange(client.ObjectKeyFromObject(s.maasCluster), s.machines) {
		s.site.Zones.Forget()
	}
	architectures, err := s.imageArchitectures(ctx, controlPlane)
	if err != nil {
		s.reportError(infrav1.FailureDomainsReadyCondition, err)
		return false
	}
	zones, err := s.zonesWithRoom(ctx, controlPlane, architectures)
	if err != nil {
		s.reportError(infrav1.FailureDomainsReadyCondition, err)
		return false
	}
	maps.DeleteFunc(zones, func(zone string, _ bool) bool { return !slices.Contains(have, zone) })
	s.reportSpread(zones)
	s.addLeavingZones(zones, have, controlPlane)
	s.addUsedZones(zones, have, controlPlane)
	if !hasOfferedZone(zones) {
		s.setCondition(infrav1.FailureDomainsReadyCondition, metav1.ConditionFalse, infrav1.NoCapacityReason, "no zone of MAAS has "+missingCapacityMessage(controlPlane, architectures)+s.unusedHostsMessage(ctx, controlPlane))
		s.requeueWithin(requeue.WithJitter(requeue.RetryAfter))
		return false
	}
	s.writeZones(s.limitZones(zones))
	s.reportZones(len(zones))
	return true
}

// controlPlaneSnapshots holds each MaasCluster's bare-metal control-plane
// machines at the time when Ready machines were listed. After a change that
// list is stale: machines may be taken or given back. VMs do not count, because
// the list of their hosts is always fresh.
type controlPlaneSnapshots struct {
	mu        sync.Mutex
	snapshots map[types.NamespacedName]string
}

// recordChange reports whether the control plane has changed since the last
// call.
func (c *controlPlaneSnapshots) recordChange(key types.NamespacedName, machines []infrav1.MaasMachine) bool {
	var now strings.Builder
	for i := range machines {
		m := &machines[i]
		if !endpoint.IsControlPlane(m) {
			continue
		}
		if made, _ := m.Spec.Resolve(field.NewPath("spec")); made.Mode != infrav1.ProvisioningModeLXD {
			fmt.Fprintf(&now, "%s in %s, %v\n", m.Name, m.Status.FailureDomain, m.DeletionTimestamp.IsZero())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshots == nil {
		c.snapshots = map[types.NamespacedName]string{}
	}
	before, known := c.snapshots[key]
	c.snapshots[key] = now.String()
	return known && before != now.String()
}

func (c *controlPlaneSnapshots) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.snapshots, key)
}

// addLeavingZones adds the zones that control-plane machines are leaving, if
// that makes room for the next machine. KubeadmControlPlane makes it as soon as
// one is gone, in a zone that it was offered before.
func (s failureDomains) addLeavingZones(zones map[string]bool, have []string, controlPlane infrav1.ResolvedMachine) {
	for i := range s.machines {
		m := &s.machines[i]
		zone := m.Status.FailureDomain
		if !endpoint.IsControlPlane(m) || m.DeletionTimestamp.IsZero() || !slices.Contains(have, zone) {
			continue
		}
		left, _ := m.Spec.Resolve(field.NewPath("spec"))
		if needsSameRoom(left, controlPlane) && !isBrokenOrFailed(m) {
			zones[zone] = true
		}
	}
}

// needsSameRoom reports whether two machines need the same room. The image and
// the exact place do not matter.
func needsSameRoom(a, b infrav1.ResolvedMachine) bool {
	for _, m := range []*infrav1.ResolvedMachine{&a, &b} {
		m.Image, m.FailureDomain, m.ProviderIDForm = "", "", ""
		m.WaitForStaticIP, m.StaticIP, m.StaticSubnet = false, netip.Addr{}, netip.Prefix{}
	}
	return reflect.DeepEqual(a, b)
}

// isBrokenOrFailed reports whether MAAS will not offer a machine again after
// its release.
func isBrokenOrFailed(m *infrav1.MaasMachine) bool {
	state := string(ptr.Deref(m.Status.MachineState, ""))
	return state == "Broken" || strings.HasPrefix(state, "Failed")
}

// addUsedZones adds the zones that machines of the cluster are in.
//
// Where no zone has room for the control plane, it offers the zones with most
// of its machines. Where nobody knows what the control plane needs, it offers
// all zones that it is in. It does not offer a full zone beside others with
// room: KubeadmControlPlane would make machines there that wait for ever, as
// soon as no zone has fewer.
//
// KubeadmControlPlane first takes machines out of zones that it is not offered.
// Example: a rollout with one spare machine, in az1. It makes a new machine in
// az1, deletes the old one of az2, makes the next one in az2, and so on. In the
// end each zone has one again. If all zones were offered, it would delete the
// old one of az1, and the next one would go there, too.
func (s failureDomains) addUsedZones(zones map[string]bool, have []string, controlPlane infrav1.ResolvedMachine) {
	full, counts := !hasOfferedZone(zones), s.countControlPlaneByZone()
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	for i := range s.machines {
		zone := s.machines[i].Status.FailureDomain
		if !slices.Contains(have, zone) {
			continue
		}
		keeps := controlPlane.Mode == "" || full && counts[zone] == most
		zones[zone] = zones[zone] || keeps && endpoint.IsControlPlane(&s.machines[i])
	}
}

// countControlPlaneByZone counts the control-plane machines that stay, by zone.
func (s failureDomains) countControlPlaneByZone() map[string]int {
	counts := map[string]int{}
	for i := range s.machines {
		if m := &s.machines[i]; endpoint.IsControlPlane(m) && m.DeletionTimestamp.IsZero() {
			counts[m.Status.FailureDomain]++
		}
	}
	return counts
}

// reportSpread reports where the control plane is in fewer zones than possible:
// a zone has room for one of its machines, and two fewer than another zone. It
// reports nothing while machines come and go.
func (s failureDomains) reportSpread(zones map[string]bool) {
	settled := !endpoint.HasControlPlaneMachine(s.machines, func(m *infrav1.MaasMachine) bool { return !m.DeletionTimestamp.IsZero() || !endpoint.IsProvisioned(m) })
	counts := s.countControlPlaneByZone()
	if !settled || len(counts) == 0 {
		return
	}
	fullest := slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return counts[a] - counts[b] })
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		if zones[zone] && counts[zone] <= counts[fullest]-2 {
			s.setCondition(infrav1.ControlPlaneSpreadCondition, metav1.ConditionFalse, infrav1.UnevenReason, fmt.Sprintf(
				"%d machines of the control plane are in zone %s, and only %d in zone %s, which has room. Roll out the control plane again, or delete a Machine in %s",
				counts[fullest], fullest, counts[zone], zone, fullest))
			return
		}
	}
	s.setCondition(infrav1.ControlPlaneSpreadCondition, metav1.ConditionTrue, infrav1.ControlPlaneSpreadReason, "")
}

// hasOfferedZone reports whether any of the zones is offered to the control
// plane.
func hasOfferedZone(zones map[string]bool) bool {
	return slices.Contains(slices.Collect(maps.Values(zones)), true)
}

// zonesWithRoom returns the zones with room for any machine, and for each
// whether it has room for a control-plane machine. KubeadmControlPlane takes
// any zone that it is offered, and stays there. The architectures are those of
// its image.
func (s failureDomains) zonesWithRoom(ctx context.Context, controlPlane infrav1.ResolvedMachine, architectures []string) (map[string]bool, error) {
	zones := map[string]bool{}
	found, err := s.site.Zones.ZonesWithRoom(ctx, fleet.ZoneNeed{})
	if err != nil {
		return nil, err
	}
	for _, z := range found {
		zones[z.Zone] = controlPlane.Mode == ""
	}
	need, fits := fleet.ZoneNeed{Machines: demand.Selector(controlPlane)}, func(z fleet.ZoneCapacity) bool { return z.Machines > 0 }
	switch controlPlane.Mode {
	case "":
		return zones, nil
	case infrav1.ProvisioningModeLXD:
		need, fits = vmZoneNeed(controlPlane, architectures), func(z fleet.ZoneCapacity) bool { return z.Hosts > 0 }
	}
	found, err = s.site.Zones.ZonesWithRoom(ctx, need)
	for _, z := range found {
		zones[z.Zone] = fits(z)
	}
	return zones, err
}

// imageArchitectures lists the architectures for which MAAS has the image of a
// VM of the control plane. The list is empty for bare metal, and where any
// architecture suits.
func (s failureDomains) imageArchitectures(ctx context.Context, controlPlane infrav1.ResolvedMachine) ([]string, error) {
	if controlPlane.VM == nil {
		return nil, nil
	}
	return engine.ImageArchitectures(ctx, s.site.Catalog, &engine.Deployment{Image: controlPlane.Image})
}

// vmZoneNeed returns what a VM needs of a zone. It ignores invalid values, such
// as a disk without a size: the machine itself reports them.
func vmZoneNeed(want infrav1.ResolvedMachine, architectures []string) fleet.ZoneNeed {
	need := fleet.ZoneNeed{
		Placement: demand.Placement(want), Host: want.VM.Host, Cores: want.Cores, MemoryMiB: want.MemoryMiB, HugePages: want.VM.HugePages,
		Architectures: architectures, Disks: demand.Disks(want.VM),
	}
	need.Disks = slices.DeleteFunc(need.Disks, func(d engine.Disk) bool { return d.SizeGB < 1 })
	return need
}

// missingCapacityMessage says what the control plane lacks in all zones, and a
// way out. The architectures are those of its image.
func missingCapacityMessage(controlPlane infrav1.ResolvedMachine, architectures []string) string {
	const more = "; add one, or name zones in spec.failureDomains"
	switch {
	case controlPlane.Mode == "":
		return "an LXD host with room or a Ready machine" + more
	case controlPlane.VM == nil:
		return "a Ready machine for the control plane" + more
	case controlPlane.VM.Host != "":
		return fmt.Sprintf("room for a VM of the control plane (%[2]s) on the LXD host %[1]s, which its template names; make room there, or use a template without this host",
			controlPlane.VM.Host, describeVMSize(controlPlane, architectures))
	}
	return fmt.Sprintf("an LXD host with room for a VM of the control plane (%s)%s", describeVMSize(controlPlane, architectures), more)
}

// unusedHostsMessage names the VM hosts of MAAS that do not count, and a way
// out; empty where that does not matter.
func (s failureDomains) unusedHostsMessage(ctx context.Context, controlPlane infrav1.ResolvedMachine) string {
	if controlPlane.Mode != "" && controlPlane.VM == nil {
		return ""
	}
	unused, err := s.site.UnusedHosts(ctx)
	if err != nil || len(unused) == 0 {
		return ""
	}
	return fmt.Sprintf(". The manager makes VMs in LXD itself (--composer=lxd), so VM hosts that were registered in MAAS by hand do not count: %s. "+
		"Start the manager with --composer=auto to use them", strings.Join(unused, ", "))
}

// describeVMSize describes the size of a VM for a message, and the architectures
// that suit it.
func describeVMSize(want infrav1.ResolvedMachine, architectures []string) string {
	parts := []string{fmt.Sprintf("cores: %d, memory: %d MiB", want.Cores, want.MemoryMiB)}
	if want.VM.HugePages {
		parts[0] += " of huge pages"
	}
	for _, d := range want.VM.Disks {
		part := fmt.Sprintf("disk: %d GB", d.SizeGB)
		if d.Pool != "" {
			part += " of the storage pool " + d.Pool
		}
		parts = append(parts, part)
	}
	if len(architectures) > 0 {
		parts = append(parts, fmt.Sprintf("image: %s for %s", want.Image, strings.Join(architectures, " or ")))
	}
	return strings.Join(parts, ", ")
}
