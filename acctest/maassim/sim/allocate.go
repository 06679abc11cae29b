package sim

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
)

// allocate acquires a machine. Where no Ready machine fits but a VM host has
// room, MAAS composes one, even for a dry run; only constraints on a certain
// machine prevent that.
func allocate(c *call) reply {
	w := c.w
	if bad := c.checkAllocation(); bad != nil {
		return *bad
	}
	m := c.firstFitting()
	if m == nil && c.mayCompose() {
		var bad *reply
		if m, bad = w.composeForAllocation(c); bad != nil {
			return *bad
		}
	}
	if m == nil {
		return conflict(c.noMachine())
	}
	if !truth(c.field("dry_run")) {
		m.status, m.owner, m.agentName = StatusAllocated, c.user, c.field("agent_name")
		m.log("Acquired", "", "")
		if m.commissioned {
			ready := "Ready"
			m.message = &ready
		}
	}
	view := m.view()
	view["constraints_by_type"] = object{}
	rep := ok(view)
	rep.objects = 1
	return rep
}

// checkAllocation refuses names that MAAS does not know, and what is no number
// (forms/node_constraint_filter.py, FilterNodeForm).
func (c *call) checkAllocation() *reply {
	errs := formErrors{}
	if name := c.field("zone"); name != "" && c.w.zoneNamed(name) == nil {
		errs.add("zone", fmt.Sprintf("No such zone(s): %s.", name))
	}
	if name := c.field("pool"); name != "" && c.w.poolNamed(name) == nil {
		errs.add("pool", fmt.Sprintf("No such pool(s): %s.", name))
	}
	for field, problem := range map[string]string{"cpu_count": "Invalid CPU count: number required.", "mem": "Invalid memory: number of MiB required."} {
		if _, isNumber := readFloat(c.field(field)); c.field(field) != "" && !isNumber {
			errs.add(field, problem)
		}
	}
	c.w.checkTags(errs, "tags", c.form["tags"])
	if len(errs) == 0 {
		return nil
	}
	bad := badForm(errs)
	return &bad
}

func (c *call) firstFitting() *machine {
	for _, m := range sortedMachines(c.w.machines) {
		if m.status == StatusReady && c.may(use, m) && c.fits(m) {
			return m
		}
	}
	return nil
}

// fits compares a machine with the constraints.
func (c *call) fits(m *machine) bool {
	atLeast := func(field string, have float64) bool {
		want, isNumber := readFloat(c.field(field))
		return !isNumber || have >= want
	}
	same := func(field, have string) bool { return c.field(field) == "" || c.field(field) == have }
	return same("system_id", m.systemID) && same("name", m.hostname) && same("zone", m.zone.name) &&
		same("pool", m.pool.name) && same("pod", m.podName()) && same("pod_type", m.podType()) &&
		(c.field("not_pod") == "" || c.field("not_pod") != m.podName()) &&
		atLeast("cpu_count", float64(m.cores)) && atLeast("mem", float64(m.memoryMiB)) &&
		!slices.ContainsFunc(splitTags(c.form["tags"]), func(t string) bool { return !slices.Contains(m.tags, t) })
}

// mayCompose says whether the constraints leave room for a new VM.
func (c *call) mayCompose() bool {
	return c.field("system_id") == "" && len(c.form["tags"]) == 0 && c.field("not_pod") == "" && !c.w.gone
}

// composeForAllocation makes a VM on the first host with room, nil if none
// has. It is never commissioned and goes away with its release.
func (w *world) composeForAllocation(c *call) (*machine, *reply) {
	for _, h := range sortedHosts(w.hosts) {
		if len(h.capabilities) == 0 || c.field("zone") != "" && c.field("zone") != h.zone.name ||
			c.field("pod") != "" && c.field("pod") != h.name {
			continue
		}
		v := wantedVM{
			host: h, cores: c.number("cpu_count", 1), memoryMiB: int64(c.number("mem", 2048)), zone: h.zone,
			pool: h.pool, domain: w.domains[0], skip: true, commissions: c.user,
		}
		disks, problem := readStorage(or(c.field("storage"), "root:8(local)"))
		if v.disks = disks; problem != "" {
			bad := badField("storage", problem)
			return nil, &bad
		}
		if v.cores < 1 || v.cores > h.cores || v.memoryMiB < leastMemoryMiB || v.memoryMiB > h.memoryMiB {
			continue
		}
		m, bad := w.composeVM(&v)
		if bad == nil {
			m.dynamic = true
			return m, nil
		}
	}
	return nil, nil
}

// number is a field's whole part, within what a database column holds.
func (c *call) number(field string, missing int) int {
	n, isNumber := readFloat(c.field(field))
	if !isNumber {
		return missing
	}
	return int(max(math.MinInt32, min(n, math.MaxInt32)))
}

// noMachine is MAAS's sentence when nothing fits.
func (c *call) noMachine() string {
	if id := c.field("system_id"); id != "" {
		return fmt.Sprintf("No machine with system ID %s available.", id)
	}
	constraints := url.Values{}
	for name, values := range c.form {
		if name != "agent_name" && name != "dry_run" && name != "comment" {
			constraints[name] = values
		}
	}
	if len(constraints) == 0 {
		return "No machine available."
	}
	var pairs, resolved []string
	for _, name := range sortedNames(constraints) {
		pairs = append(pairs, fmt.Sprintf("('%s', ['%s'])", name, strings.Join(constraints[name], "', '")))
		resolved = append(resolved, name+"="+resolvedText(name, last(constraints[name])))
	}
	return fmt.Sprintf("No available machine matches constraints: [%s] (resolved to \"%s\")", strings.Join(pairs, ", "), strings.Join(resolved, " "))
}

// resolvedText is how MAAS writes a constraint that it has read.
func resolvedText(name, value string) string {
	if n, isNumber := readFloat(value); isNumber && (name == "cpu_count" || name == "mem") {
		return ratio(n)
	}
	return value
}

func sortedNames(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
