package machines

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// allocate acquires a machine. Where no Ready machine fits but a VM host has
// room, MAAS composes one, even for a dry run; only constraints on a certain
// machine prevent that.
func allocate(c *request.Call) rest.Reply {
	w := c.World
	if bad := checkAllocation(c); bad != nil {
		return *bad
	}
	m := firstFitting(c)
	if m == nil && mayCompose(c) {
		var bad *rest.Reply
		if m, bad = composeForAllocation(w, c); bad != nil {
			return *bad
		}
	}
	if m == nil {
		return rest.Conflict(noMachine(c))
	}
	if !rest.Truth(c.Field("dry_run")) {
		m.Status, m.Owner, m.AgentName = world.StatusAllocated, c.User, c.Field("agent_name")
		m.Log("Acquired", "", "")
		if m.Commissioned {
			ready := "Ready"
			m.Message = &ready
		}
	}
	view := view.Machine(m)
	view["constraints_by_type"] = rest.Object{}
	rep := rest.OK(view)
	rep.Objects = 1
	return rep
}

// checkAllocation refuses names that MAAS does not know, and what is no number
// (forms/node_constraint_filter.py, FilterNodeForm).
func checkAllocation(c *request.Call) *rest.Reply {
	errs := rest.FormErrors{}
	if name := c.Field("zone"); name != "" && c.World.ZoneNamed(name) == nil {
		errs.Add("zone", fmt.Sprintf("No such zone(s): %s.", name))
	}
	if name := c.Field("pool"); name != "" && c.World.PoolNamed(name) == nil {
		errs.Add("pool", fmt.Sprintf("No such pool(s): %s.", name))
	}
	for field, problem := range map[string]string{"cpu_count": "Invalid CPU count: number required.", "mem": "Invalid memory: number of MiB required."} {
		if _, isNumber := rest.ReadFloat(c.Field(field)); c.Field(field) != "" && !isNumber {
			errs.Add(field, problem)
		}
	}
	request.CheckTags(c.World, errs, "tags", c.Form["tags"])
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadForm(errs)
	return &bad
}

func firstFitting(c *request.Call) *world.Machine {
	for _, m := range world.SortedMachines(c.World.Machines) {
		if m.Status == world.StatusReady && c.May(request.Use, m) && machineFits(c, m) {
			return m
		}
	}
	return nil
}

// machineFits compares a machine with the constraints.
func machineFits(c *request.Call, m *world.Machine) bool {
	atLeast := func(field string, have float64) bool {
		want, isNumber := rest.ReadFloat(c.Field(field))
		return !isNumber || have >= want
	}
	same := func(field, have string) bool { return c.Field(field) == "" || c.Field(field) == have }
	return same("system_id", m.SystemID) && same("name", m.Hostname) && same("zone", m.Zone.Name) &&
		same("pool", m.Pool.Name) && same("pod", request.PodName(m)) && same("pod_type", request.PodType(m)) &&
		(c.Field("not_pod") == "" || c.Field("not_pod") != request.PodName(m)) &&
		atLeast("cpu_count", float64(m.Cores)) && atLeast("mem", float64(m.MemoryMiB)) &&
		!slices.ContainsFunc(rest.SplitTags(c.Form["tags"]), func(t string) bool { return !slices.Contains(m.Tags, t) })
}

// mayCompose says whether the constraints leave room for a new VM.
func mayCompose(c *request.Call) bool {
	return c.Field("system_id") == "" && len(c.Form["tags"]) == 0 && c.Field("not_pod") == "" && !c.World.Gone
}

// composeForAllocation makes a VM on the first host with room, nil if none
// has. It is never commissioned and goes away with its release.
func composeForAllocation(w *world.World, c *request.Call) (*world.Machine, *rest.Reply) {
	for _, h := range world.SortedHosts(w.Hosts) {
		if len(h.Capabilities) == 0 || c.Field("zone") != "" && c.Field("zone") != h.Zone.Name ||
			c.Field("pod") != "" && c.Field("pod") != h.Name {
			continue
		}
		v := hosts.WantedVM{
			Host: h, Cores: c.Number("cpu_count", 1), MemoryMiB: int64(c.Number("mem", 2048)), Zone: h.Zone,
			Pool: h.Pool, Domain: w.Domains[0], Skip: true, Commissions: c.User,
		}
		disks, problem := hosts.ReadStorage(cmp.Or(c.Field("storage"), "root:8(local)"))
		if v.Disks = disks; problem != "" {
			bad := rest.BadField("storage", problem)
			return nil, &bad
		}
		if v.Cores < 1 || v.Cores > h.Cores || v.MemoryMiB < hosts.LeastMemoryMiB || v.MemoryMiB > h.MemoryMiB {
			continue
		}
		m, bad := hosts.ComposeVM(w, &v)
		if bad == nil {
			m.Dynamic = true
			return m, nil
		}
	}
	return nil, nil
}

// noMachine is MAAS's sentence when nothing fits.
func noMachine(c *request.Call) string {
	if id := c.Field("system_id"); id != "" {
		return fmt.Sprintf("No machine with system ID %s available.", id)
	}
	constraints := url.Values{}
	for name, values := range c.Form {
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
		resolved = append(resolved, name+"="+resolvedText(name, rest.Last(constraints[name])))
	}
	return fmt.Sprintf("No available machine matches constraints: [%s] (resolved to \"%s\")", strings.Join(pairs, ", "), strings.Join(resolved, " "))
}

// resolvedText is how MAAS writes a constraint that it has read.
func resolvedText(name, value string) string {
	if n, isNumber := rest.ReadFloat(value); isNumber && (name == "cpu_count" || name == "mem") {
		return hosts.Ratio(n)
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
