package client

import (
	"maps"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// hostGroup is the VM hosts of some architectures.
type hostGroup struct {
	hosts         []engine.VMHost
	architectures []string // none: all hosts
	kind          string   // of these hosts: "amd64 ", or empty
	isOnlyHost    bool     // it is one host, and there are no others
}

// architectureGroups are the hosts of each choice of architectures that placed VMs have, the
// smallest group first, and at last all hosts.
func architectureGroups(all map[string]vmNeed, hosts []engine.VMHost) []hostGroup {
	choices := map[string][]string{}
	for _, n := range all {
		if n.host == "" && len(n.architectures) > 0 {
			choices[strings.Join(n.architectures, " or ")] = n.architectures
		}
	}
	var groups []hostGroup
	for _, text := range slices.Sorted(maps.Keys(choices)) {
		g := hostGroup{architectures: choices[text], kind: text + " "}
		g.hosts = slices.DeleteFunc(slices.Clone(hosts), func(h engine.VMHost) bool { return !g.suitsHost(h) })
		if len(g.hosts) < len(hosts) {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b hostGroup) int { return len(a.hosts) - len(b.hosts) })
	return append(groups, hostGroup{hosts: slices.Clone(hosts), isOnlyHost: len(hosts) == 1})
}

// reportGroupShortages reports if the VMs do not fit on a group of hosts. VMs and hosts of such a
// group do not count for the next groups, because those VMs cannot be elsewhere.
func reportGroupShortages(all map[string]vmNeed, hosts []engine.VMHost, v ObstacleReport) {
	full := map[string]bool{}
	for _, g := range architectureGroups(all, hosts) {
		count := len(g.hosts)
		g.hosts = slices.DeleteFunc(g.hosts, func(h engine.VMHost) bool { return full[h.HostKey] })
		if len(g.hosts) == 0 || !(shortage{all, g.hosts, g.shortageText(len(g.hosts) < count), g.takesVM, g.refusesVM}).report(v) {
			continue // if no host suits, each VM's own check has warned
		}
		maps.DeleteFunc(all, func(_ string, n vmNeed) bool { return g.takesVM(n) })
		for _, h := range g.hosts {
			full[h.HostKey] = true
		}
	}
}

// shortageText names the hosts, and says that VMs take more than they have.
func (g hostGroup) shortageText(isRest bool) string {
	switch {
	case len(g.hosts) == 1:
		return "VM host " + g.hosts[0].Name + " take more than it has"
	case isRest:
		return "the other " + g.kind + "VM hosts together take more than they have"
	}
	return "all " + g.kind + "VM hosts together take more than they have"
}

// suitsHost tells whether the host is in the group. It is if its architecture is unknown.
func (g hostGroup) suitsHost(h engine.VMHost) bool {
	architecture := h.VMArchitecture()
	return architecture == "" || slices.Contains(g.architectures, placement.ShortArchitecture(architecture))
}

// takesVM tells whether a VM takes its room on these hosts, and on no others.
func (g hostGroup) takesVM(n vmNeed) bool {
	switch {
	case len(g.architectures) == 0:
		return true
	case n.host != "":
		return slices.ContainsFunc(g.hosts, func(h engine.VMHost) bool { return h.HostKey == n.host })
	}
	isOutside := func(architecture string) bool { return !slices.Contains(g.architectures, architecture) }
	return len(n.architectures) > 0 && !slices.ContainsFunc(n.architectures, isOutside)
}

// refusesVM tells whether a forced replacement can fail for lack of room on these hosts.
func (g hostGroup) refusesVM(n vmNeed) bool { return g.isOnlyHost || n.host == "" && g.takesVM(n) }
