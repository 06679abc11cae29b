package endpoint

import (
	"net/netip"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// HasControlPlaneMachine reports whether a control-plane machine passes the
// test picks.
func HasControlPlaneMachine(machines []infrav1.MaasMachine, picks func(*infrav1.MaasMachine) bool) bool {
	return slices.ContainsFunc(machines, func(m infrav1.MaasMachine) bool { return IsControlPlane(&m) && picks(&m) })
}

// IsControlPlane reports whether a machine belongs to the control plane.
func IsControlPlane(m *infrav1.MaasMachine) bool {
	_, is := m.Labels[clusterv1.MachineControlPlaneLabel]
	return is
}

// ControlPlaneAddresses returns one address of each control-plane machine that
// passes the test picks. The address is in the first matching subnet. The
// addresses are sorted.
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

// apiAddress returns the address by which a machine serves the API. Without
// subnets it is the first external address, else the first address.
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

// IPs returns the IP addresses of a machine, external ones first.
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

// InternalIPs returns the machine's internal IP addresses, each once.
func InternalIPs(m *infrav1.MaasMachine) []string {
	var ips []string
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineInternalIP {
			ips = append(ips, a.Address)
		}
	}
	return ips
}
