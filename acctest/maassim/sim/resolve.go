package sim

import (
	"slices"
	"strings"
)

// Resolve is what MAAS's DNS server answers for a name: the addresses that
// users gave it, and those of the machine of that name. There are none where
// MAAS does not know the name; a dot at its end does not count.
func (s *Sim) Resolve(fqdn string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	fqdn = strings.ToLower(strings.TrimSuffix(fqdn, "."))
	addresses := []string{}
	s.world.forgetAddresses()
	for _, r := range s.world.dns {
		if strings.EqualFold(r.name+"."+r.domain.name, fqdn) {
			addresses = append(addresses, r.ips...)
		}
	}
	for _, m := range sortedMachines(s.world.machines) {
		if strings.EqualFold(m.hostname+"."+m.domain.name, fqdn) {
			addresses = append(addresses, m.addresses()...)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}
