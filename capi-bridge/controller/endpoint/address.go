package endpoint

import (
	"net/netip"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// HasControlPlaneMachine tells whether a test picks a machine of the control plane.
func HasControlPlaneMachine(machines []infrav1.MaasMachine, picks func(*infrav1.MaasMachine) bool) bool {
	return slices.ContainsFunc(machines, func(m infrav1.MaasMachine) bool { return IsControlPlane(&m) && picks(&m) })
}

// IsControlPlane tells that a machine is of the control plane.
func IsControlPlane(m *infrav1.MaasMachine) bool {
	_, is := m.Labels[clusterv1.MachineControlPlaneLabel]
	return is
}

// ControlPlaneAddresses are the addresses of those machines of the control plane that a
// test picks, sorted: one of each, in the first of the subnets that it is in.
func ControlPlaneAddresses(machines []infrav1.MaasMachine, subnets []netip.Prefix, picks func(*infrav1.MaasMachine) bool) []netip.Addr {
	var found []netip.Addr
	for i := range machines {
		m := &machines[i]
		if !IsControlPlane(m) || !picks(m) {
			continue
		}
		if ip, ok := apiAddress(m, subnets); ok {
			found = append(found, ip)
		}
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found)
}

// apiAddress is the address of a machine by which the API is reached. With
// no subnets it is the first external one, else the first.
func apiAddress(m *infrav1.MaasMachine, subnets []netip.Prefix) (netip.Addr, bool) {
	addresses := IPs(m)
	for _, subnet := range subnets {
		if at := slices.IndexFunc(addresses, subnet.Contains); at >= 0 {
			return addresses[at], true
		}
	}
	if len(subnets) > 0 || len(addresses) == 0 {
		return netip.Addr{}, false
	}
	return addresses[0], true
}

// IPs are the addresses of a machine, external ones first.
func IPs(m *infrav1.MaasMachine) []netip.Addr {
	var external, internal []netip.Addr
	for _, a := range m.Status.Addresses {
		ip, err := netip.ParseAddr(a.Address)
		switch {
		case err != nil: // a name
		case a.Type == clusterv1.MachineExternalIP:
			external = append(external, ip)
		case a.Type == clusterv1.MachineInternalIP:
			internal = append(internal, ip)
		}
	}
	return slices.Concat(external, internal)
}

// InternalIPs are the machine's IPs, each once.
func InternalIPs(m *infrav1.MaasMachine) []string {
	var ips []string
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineInternalIP {
			ips = append(ips, a.Address)
		}
	}
	return ips
}
