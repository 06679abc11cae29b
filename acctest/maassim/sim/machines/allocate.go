package machines

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// allocate acquires a machine. Where no Ready machine fits but a VM host has
// room, MAAS composes one, even for a dry run; only constraints on a certain
// machine prevent that.
func allocate(c *request.Call) rest.Reply {
	if bad := checkAllocation(c); bad != nil {
		return *bad
	}
	m := firstFitting(c)
	if m == nil && mayCompose(c) {
		var bad *rest.Reply
		if m, bad = composeForAllocation(c.World, c); bad != nil {
			return *bad
		}
	}
	if m == nil {
		return rest.Conflict(noMachine(c))
	}
	if !rest.Truth(c.Field("dry_run")) {
		lifecycle.Acquire(m, c.User, c.Field("agent_name"), c.Field("comment"))
		if rest.Truth(c.Field("bridge_all")) {
			lifecycle.BridgeAll(m)
		}
	}
	view := view.Machine(m)
	view["constraints_by_type"] = fulfilledConstraints(c, m)
	rep := rest.OK(view)
	rep.Objects = 1
	return rep
}

// allocationOptions are parameters of allocate that are no constraints
// (node_constraint_filter_forms.py, IGNORED_FIELDS).
var allocationOptions = []string{"agent_name", "bridge_all", "bridge_fd", "bridge_stp", "bridge_type", "comment", "dry_run", "op", "verbose"}

// checkAllocation refuses names that MAAS does not know, and what is no number
// (forms/node_constraint_filter.py, FilterNodeForm). A constraint that is not
// simulated is 501.
func checkAllocation(c *request.Call) *rest.Reply {
	if bad := checkBooleans(c, "dry_run", "verbose", "bridge_all", "bridge_stp"); bad != nil {
		return bad
	}
	errs := rest.FormErrors{}
	for name, values := range c.Form {
		switch {
		case slices.Contains(allocationOptions, name) || name == "name" || name == "storage" || strings.Join(values, "") == "":
		case request.Knows(name):
			request.CheckConstraint(c.World, errs, name, values)
		case slices.Contains(request.Unsimulated, name):
			bad := notSimulated("the constraint " + name + " of allocate")
			return &bad
		default:
			errs.Add(name, "No such constraint.")
		}
	}
	if _, problem := hosts.ReadStorage(cmp.Or(c.Field("storage"), "root:8(local)")); problem != "" {
		errs.Add("storage", problem)
	}
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadForm(errs)
	return &bad
}

// firstFitting is the cheapest Ready machine that fits (AcquireNodeForm,
// reorder_nodes_by_cost).
func firstFitting(c *request.Call) *world.Machine {
	var fitting []*world.Machine
	for _, m := range world.SortedMachines(c.World.Machines) {
		if m.Status == world.StatusReady && c.May(request.Edit, m) && machineFits(c, m) {
			fitting = append(fitting, m)
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	cost := func(m *world.Machine) float64 { return float64(m.Cores) + float64(m.MemoryMiB)/1024 }
	return slices.MinFunc(fitting, func(a, b *world.Machine) int { return cmp.Compare(cost(a), cost(b)) })
}

// machineFits compares a machine with the constraints. A name may be a hostname or
// an FQDN.
func machineFits(c *request.Call, m *world.Machine) bool {
	for name, values := range c.Form {
		switch {
		case slices.Contains(allocationOptions, name) || strings.Join(values, "") == "":
		case name == "name":
			if !slices.ContainsFunc(values, func(v string) bool { return v == m.Hostname || v == m.Hostname+"."+m.Domain.Name }) {
				return false
			}
		case name == "storage":
			if _, fits := disksFor(c, m); !fits {
				return false
			}
		case !request.Fulfils(m, name, values):
			return false
		}
	}
	return true
}

// disksFor assigns the machine's disks to the wanted ones by their labels, the
// first to the first (nodes_by_storage).
func disksFor(c *request.Call, m *world.Machine) (map[string][]int, bool) {
	assigned, used := map[string][]int{}, map[int]bool{}
	wanted, _ := hosts.ReadStorage(c.Field("storage"))
	for n, want := range wanted {
		label, sizeBytes, tags := want.Wanted()
		i := slices.IndexFunc(m.Disks, func(d *world.Disk) bool {
			return !used[d.ID] && d.SizeBytes >= sizeBytes && !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(d.Tags, tag) })
		})
		if i < 0 || n == 0 && i > 0 {
			return nil, false
		}
		used[m.Disks[i].ID] = true
		assigned[label] = append(assigned[label], m.Disks[i].ID)
	}
	return assigned, true
}

// fulfilledConstraints tells which disk fulfils which part of storage=.
func fulfilledConstraints(c *request.Call, m *world.Machine) rest.Object {
	if c.Field("storage") == "" {
		return rest.Object{}
	}
	disks, _ := disksFor(c, m)
	if len(disks) == 0 {
		return rest.Object{}
	}
	return rest.Object{"storage": disks}
}

// mayCompose says whether the constraints leave room for a new VM.
func mayCompose(c *request.Call) bool {
	return c.Field("system_id") == "" && c.Field("not_pod") == "" && !c.World.Gone
}

// fitsHost compares a VM host with the constraints that MAAS looks at before it
// composes on one (api/machines.py, get_allocated_composed_machine).
func fitsHost(c *request.Call, h *world.VMHost) bool {
	has := func(tag string) bool { return slices.Contains(h.Tags, tag) }
	tags, notTags := rest.SplitTags(c.Form["tags"]), rest.SplitTags(c.Form["not_tags"])
	wanted := func(field, have string) bool { return c.Field(field) == "" || slices.Contains(c.Form[field], have) }
	return len(h.Capabilities) > 0 && (c.Field("zone") == "" || c.Field("zone") == h.Zone.Name) &&
		wanted("pod", h.Name) && wanted("pod_type", "lxd") &&
		!slices.Contains(c.Form["not_pod_type"], "lxd") &&
		!slices.ContainsFunc(tags, func(t string) bool { return !has(t) }) && (len(notTags) == 0 || slices.ContainsFunc(notTags, func(t string) bool { return !has(t) }))
}

// composeForAllocation makes a VM on the first host with room, nil if none
// has. It is never commissioned, goes into the default zone, and goes away with
// its release.
func composeForAllocation(w *world.World, c *request.Call) (*world.Machine, *rest.Reply) {
	disks, problem := hosts.ReadStorage(cmp.Or(c.Field("storage"), "root:8(local)"))
	if problem != "" {
		bad := rest.BadField("storage", problem)
		return nil, &bad
	}
	for _, h := range world.SortedHosts(w.Hosts) {
		v := hosts.WantedVM{
			Host: h, Disks: disks, Cores: c.Number("cpu_count", 1), MemoryMiB: int64(c.Number("mem", 2048)),
			Zone: w.DefaultZone(), Pool: h.Pool, Domain: w.Domains[0], Skip: true, Commissions: c.User,
		}
		if !fitsHost(c, h) || v.Cores < 1 || v.Cores > h.Cores || v.MemoryMiB < hosts.LeastMemoryMiB || v.MemoryMiB > h.MemoryMiB {
			continue
		}
		if m, bad := hosts.ComposeVM(w, &v); bad == nil {
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
	var pairs, options, resolved []string
	for _, name := range sortedNames(c.Form) {
		pair := fmt.Sprintf("('%s', ['%s'])", name, strings.Join(c.Form[name], "', '"))
		if slices.Contains(allocationOptions, name) {
			options = append(options, pair)
			continue
		}
		pairs = append(pairs, pair)
		resolved = append(resolved, name+"="+resolvedText(name, rest.Last(c.Form[name])))
	}
	if len(resolved) == 0 {
		return "No machine available."
	}
	pairs = append(pairs, options...)
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
