package machine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// nicSubnets finds the subnets of a VM's NICs.
type nicSubnets struct{ *scope }

// findSubnet finds the subnet of a NIC: the subnet that it names, or that has
// its address, or that the hosts' bridge is in. The NIC's other fields must
// agree with that subnet.
func (s nicSubnets) findSubnet(ctx context.Context, nic infrav1.ResolvedInterface) (string, error) {
	if nic.Subnet != "" && nic.Bridge == "" && nic.VLAN == nil {
		return nic.Subnet, nil
	}
	all, err := s.site.Names.Subnets(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case nic.Subnet != "":
		named := filterSubnets(all, func(subnet engine.Subnet) bool { return subnet.Name == nic.Subnet || subnet.CIDR == nic.Subnet })
		if len(named) == 0 {
			return nic.Subnet, nil // the engine's error lists the existing ones
		}
		return s.matchSubnet(ctx, named, nic)
	case nic.IP.IsValid():
		subnet, err := s.subnetOfAddress(all, nic.IP)
		if err != nil {
			return "", err
		}
		return s.matchSubnet(ctx, []engine.Subnet{subnet}, nic)
	case nic.Bridge != "":
		subnet, err := s.subnetOfBridge(ctx, filterSubnets(all, vlanFilter(nic)), nic)
		return subnet.CIDR, err
	}
	return "", &problem.BlockedError{
		Reason:  infrav1.InvalidSpecReason,
		Message: fmt.Sprintf("spec.lxdConfig.network: the NIC %s names neither a subnet nor a bridge", nic.Name),
		Hint:    "Name its subnet, by CIDR or name. MAAS attaches VMs by subnets, and a VLAN may have several.",
	}
}

// filterSubnets returns the subnets that pass the test.
func filterSubnets(all []engine.Subnet, fits func(engine.Subnet) bool) []engine.Subnet {
	return slices.DeleteFunc(slices.Clone(all), func(subnet engine.Subnet) bool { return !fits(subnet) })
}

// vlanFilter returns a test for subnets on the VLAN that the NIC names, if any.
func vlanFilter(nic infrav1.ResolvedInterface) func(engine.Subnet) bool {
	return func(subnet engine.Subnet) bool { return nic.VLAN == nil || subnet.VID == int(*nic.VLAN) }
}

// matchSubnet chooses the subnet that is on the NIC's VLAN, and on its bridge
// of the suitable hosts. Several subnets may have the same name. Then the
// engine tells them apart, or says that it cannot.
func (s nicSubnets) matchSubnet(ctx context.Context, subnets []engine.Subnet, nic infrav1.ResolvedInterface) (string, error) {
	found := filterSubnets(subnets, vlanFilter(nic))
	if len(found) == 0 {
		return "", &problem.BlockedError{
			Reason:  infrav1.InvalidSpecReason,
			Message: fmt.Sprintf("spec.lxdConfig.network: the NIC %s names VLAN %d, but its subnet %s is on VLAN %d", nic.Name, *nic.VLAN, subnets[0].CIDR, subnets[0].VID),
			Hint:    "Leave out vlan, or name another subnet.",
		}
	}
	if nic.Bridge != "" {
		links, bridges, err := s.listBridges(ctx, nic.Bridge)
		if err != nil {
			return "", err
		}
		on := filterSubnets(found, func(subnet engine.Subnet) bool { return slices.Contains(links, subnet.CIDR) })
		if len(on) == 0 {
			return "", &problem.BlockedError{
				Reason: infrav1.InvalidSpecReason, RetryAfter: requeue.RetryAfter,
				Message: fmt.Sprintf("spec.lxdConfig.network: no suitable LXD host has a bridge %s in the subnet %s of the NIC %s", nic.Bridge, found[0].CIDR, nic.Name),
				Hint:    "Leave out bridge: MAAS takes the host's bridge in that subnet. The hosts have these bridges: " + strings.Join(bridges, ", ") + ".",
			}
		}
		found = on
	}
	if len(found) > 1 {
		return nic.Subnet, nil
	}
	return found[0].CIDR, nil
}

// subnetOfAddress finds the subnet of a static address: the one that staticIP
// names, or the narrowest that MAAS has.
func (s nicSubnets) subnetOfAddress(all []engine.Subnet, ip netip.Addr) (engine.Subnet, error) {
	var found engine.Subnet
	width := -1
	for _, subnet := range all {
		prefix, err := netip.ParsePrefix(subnet.CIDR)
		if err != nil || !prefix.Contains(ip) || prefix.Bits() <= width {
			continue
		}
		if named := s.want.StaticSubnet; named.IsValid() && ip == s.want.StaticIP && prefix.Masked() != named {
			continue
		}
		found, width = subnet, prefix.Bits()
	}
	if width >= 0 {
		return found, nil
	}
	where := "any subnet that MAAS has"
	if s.want.StaticSubnet.IsValid() && ip == s.want.StaticIP {
		where = "a subnet " + s.want.StaticSubnet.String() + " that MAAS has"
	}
	return engine.Subnet{}, &problem.BlockedError{
		Reason:  infrav1.StaticIPUnavailableReason,
		Message: fmt.Sprintf("spec.staticIP: %s is not in %s", ip, where),
		Hint:    "MAAS has: " + strings.Join(sortedCIDRs(all), ", ") + ".",
	}
}

func sortedCIDRs(subnets []engine.Subnet) []string {
	list := make([]string, len(subnets))
	for n, subnet := range subnets {
		list[n] = subnet.CIDR
	}
	slices.Sort(list)
	return list
}

// subnetOfBridge finds the subnet of a bridge of the hosts. MAAS attaches VMs
// by subnets, and takes the host's bridge in the subnet.
func (s nicSubnets) subnetOfBridge(ctx context.Context, all []engine.Subnet, nic infrav1.ResolvedInterface) (engine.Subnet, error) {
	links, bridges, err := s.listBridges(ctx, nic.Bridge)
	if err != nil {
		return engine.Subnet{}, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(subnet engine.Subnet) bool { return !slices.Contains(links, subnet.CIDR) })
	if served := slices.DeleteFunc(slices.Clone(found), func(subnet engine.Subnet) bool { return !subnet.DHCP }); len(served) > 0 {
		found = served
	}
	bad := &problem.BlockedError{Reason: infrav1.InvalidSpecReason}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		bad.Message = fmt.Sprintf("spec.lxdConfig.network: no suitable LXD host has a bridge %s in a subnet that MAAS has", nic.Bridge)
		bad.Hint = "The hosts have these bridges: " + strings.Join(bridges, ", ") + "."
		bad.RetryAfter = requeue.RetryAfter
	default:
		bad.Message = fmt.Sprintf("spec.lxdConfig.network: the bridges %s of the LXD hosts are in different subnets: %s", nic.Bridge, strings.Join(sortedCIDRs(found), ", "))
		bad.Hint = "Name the subnet of the NIC " + nic.Name + "."
	}
	return engine.Subnet{}, bad
}

// listBridges lists the subnets of all bridges with this name on the suitable
// hosts, and the names of all their bridges.
func (s nicSubnets) listBridges(ctx context.Context, name string) (links, names []string, err error) {
	hosts, err := s.site.Inventory.Hosts(ctx)
	if err != nil {
		return nil, nil, err
	}
	machines := make([]engine.BareMetal, len(hosts))
	var reads errgroup.Group // the reads share calls
	for n, h := range hosts {
		if h.MachineID == "" || !s.canUseHost(h) {
			continue
		}
		reads.Go(func() (err error) {
			machines[n], err = s.site.Machines.Observe(ctx, engine.Ref{SystemID: h.MachineID})
			if errors.Is(err, engine.ErrNotFound) {
				err = nil
			}
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, nil, fmt.Errorf("cannot read the bridges of the LXD hosts: %w", err)
	}
	for _, m := range machines {
		for _, b := range m.Bridges {
			names = append(names, b.Name)
			for _, l := range b.Links {
				if b.Name == name && l.Subnet != "" {
					links = append(links, l.Subnet)
				}
			}
		}
	}
	slices.Sort(names)
	return links, slices.Compact(names), nil
}

// canUseHost reports whether the names in the spec allow the host for the VM.
func (s nicSubnets) canUseHost(h engine.VMHost) bool {
	if host := s.want.VM.Host; host != "" {
		return host == h.Name || host == fmt.Sprint(h.ID) || host == h.MachineID
	}
	zone, pool := s.failureDomain(), s.want.ResourcePool
	return (zone == "" || h.Zone == zone) && (pool == "" || h.Pool == pool) &&
		!slices.ContainsFunc(s.want.Tags, func(tag string) bool { return !slices.Contains(h.Tags, tag) })
}
