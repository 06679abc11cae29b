package machines

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// allocateMachine acquires a machine. If no Ready machine fits but a VM host has room,
// MAAS composes a VM, even in a dry run. Only a constraint on a particular machine
// prevents that.
func allocateMachine(c *request.Call) rest.Reply {
	if bad := checkAllocation(c); bad != nil {
		return *bad
	}
	m := cheapestMatch(c)
	if m == nil && c.Field("system_id") == "" && !c.World.VMHostsRemoved {
		var bad *rest.Reply
		if m, bad = composeForAllocation(c.World, c); bad != nil {
			return *bad
		}
	}
	if m == nil {
		return rest.ConflictReply(noMachineText(c))
	}
	if !rest.ReadBool(c.Field("dry_run")) {
		lifecycle.AcquireMachine(m, c.User, c.Field("agent_name"), c.Field("comment"))
		if rest.ReadBool(c.Field("bridge_all")) {
			lifecycle.BridgeAll(m, bridgeParams(c))
		}
	}
	view := view.Machine(m)
	view["constraints_by_type"] = fulfilledConstraints(c, m)
	rep := rest.OKReply(view)
	rep.MachineObjects = 1
	return rep
}

// allocationOptions are the parameters of allocate that are not constraints
// (node_constraint_filter_forms.py, IGNORED_FIELDS).
var allocationOptions = []string{"agent_name", "bridge_all", "bridge_fd", "bridge_stp", "bridge_type", "comment", "dry_run", "op", "verbose"}

// checkAllocation refuses unknown names and invalid numbers
// (forms/node_constraint_filter.py, FilterNodeForm). A constraint that the simulator does
// not support is 501.
func checkAllocation(c *request.Call) *rest.Reply {
	if bad := checkAllocationOptions(c); bad != nil {
		return bad
	}
	if bad := checkBooleans(c, "verbose", "dry_run"); bad != nil {
		return bad
	}
	errs := rest.FormErrors{}
	for name, values := range c.Form {
		switch {
		case slices.Contains(allocationOptions, name) || name == "name" || name == "storage" || strings.Join(values, "") == "":
		case request.IsKnownConstraint(name):
			request.CheckConstraint(c.World, errs, name, values)
		default:
			errs.Add(name, "No such constraint.")
		}
	}
	if _, problem := hosts.ReadStorage(cmp.Or(c.Field("storage"), "root:8(local)")); problem != "" {
		errs.Add("storage", problem)
	}
	if len(errs) > 0 {
		bad := rest.BadFormReply(errs)
		return &bad
	}
	return request.InterfacesProblem(c.World, c.Field("interfaces"))
}

// cheapestMatch is the cheapest Ready machine that matches (AcquireNodeForm,
// reorder_nodes_by_cost).
func cheapestMatch(c *request.Call) *world.Machine {
	var fitting []*world.Machine
	for _, m := range world.SortedMachines(c.World.Machines) {
		if m.Status == world.StatusReady && c.HasPermission(request.Edit, m) && matchesConstraints(c, m) {
			fitting = append(fitting, m)
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	cost := func(m *world.Machine) float64 { return float64(m.Cores) + float64(m.MemoryMiB)/1024 }
	return slices.MinFunc(fitting, func(a, b *world.Machine) int { return cmp.Compare(cost(a), cost(b)) })
}

// matchesConstraints compares a machine with the constraints. A name is a hostname or an
// FQDN. If there are several names, all must match (_match_compose_value).
func matchesConstraints(c *request.Call, m *world.Machine) bool {
	for name, values := range c.Form {
		switch {
		case slices.Contains(allocationOptions, name) || strings.Join(values, "") == "":
		case name == "name":
			if slices.ContainsFunc(values, func(v string) bool { return v != m.Hostname && v != m.Hostname+"."+m.Domain.Name }) {
				return false
			}
		case name == "storage":
			if _, fits := assignDisks(c, m); !fits {
				return false
			}
		case !request.MatchesConstraint(m, name, values):
			return false
		}
	}
	return true
}

// assignDisks assigns the machine's disks to the labels of the requested ones. The first
// label gets the first matching disk (nodes_by_storage).
func assignDisks(c *request.Call, m *world.Machine) (map[string][]int, bool) {
	assigned, used := map[string][]int{}, map[int]bool{}
	wanted, _ := hosts.ReadStorage(c.Field("storage"))
	for n, want := range wanted {
		label, sizeBytes, tags := want.Spec()
		i := slices.IndexFunc(m.Storage.Disks, func(d *storage.Disk) bool {
			return !used[d.ID] && d.SizeBytes >= sizeBytes && !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(d.Tags, tag) })
		})
		if i < 0 || n == 0 && i > 0 {
			return nil, false
		}
		used[m.Storage.Disks[i].ID] = true
		if label != "" {
			assigned[label] = append(assigned[label], m.Storage.Disks[i].ID)
		}
	}
	return assigned, true
}

// fulfilledConstraints tells which disk fulfils each part of storage=, and which
// interfaces fulfil each part of interfaces=.
func fulfilledConstraints(c *request.Call, m *world.Machine) rest.Object {
	all, disks := rest.Object{}, map[string][]int{}
	if c.Field("storage") != "" {
		disks, _ = assignDisks(c, m)
	}
	if len(disks) > 0 {
		all["storage"] = disks
	}
	nics, _ := request.MatchingInterfaces(m, c.Field("interfaces"))
	if len(nics) > 0 {
		all["interfaces"] = nics
	}
	if rest.ReadBool(c.Field("verbose")) {
		all["verbose_storage"], all["verbose_interfaces"] = verboseDisks(m, disks), verboseNICs(m, nics)
	}
	return all
}

// verboseDisks and verboseNICs name the machine by its row number, which no other answer
// shows.
func verboseDisks(m *world.Machine, disks map[string][]int) rest.Object {
	labels := rest.Object{}
	for label, ids := range disks {
		for _, id := range ids {
			labels[strconv.Itoa(id)] = label
		}
	}
	if len(labels) == 0 {
		return labels
	}
	return rest.Object{strconv.Itoa(m.NICs[0].ID): labels}
}

func verboseNICs(m *world.Machine, nics map[string][]int) rest.Object {
	all := rest.Object{}
	for label, ids := range nics {
		all[label] = rest.Object{strconv.Itoa(m.NICs[0].ID): ids}
	}
	return all
}

// canComposeOn compares a VM host with the constraints that MAAS checks before it composes
// there (api/machines.py, get_allocated_composed_machine).
func canComposeOn(c *request.Call, h *world.VMHost) bool {
	has := func(tag string) bool { return slices.Contains(h.Tags, tag) }
	tags, notTags := c.Form["tags"], c.Form["not_tags"] // unchanged, because MAAS does not split them here
	wanted := func(field, have string) bool { return c.Field(field) == "" || slices.Contains(c.Form[field], have) }
	return len(h.Capabilities) > 0 && (c.Field("zone") == "" || c.Field("zone") == h.Zone.Name) &&
		wanted("pod", h.Name) && wanted("pod_type", "lxd") &&
		!slices.Contains(c.Form["not_pod_type"], "lxd") && !slices.Contains(c.Form["not_pod"], h.Name) &&
		!slices.ContainsFunc(tags, func(t string) bool { return !has(t) }) && (len(notTags) == 0 || slices.ContainsFunc(notTags, func(t string) bool { return !has(t) }))
}

// composeForAllocation composes a VM on the first host with room, or returns nil. The VM
// is never commissioned, is in the default zone, and is deleted when it is released.
func composeForAllocation(w *world.World, c *request.Call) (*world.Machine, *rest.Reply) {
	disks, problem := hosts.ReadStorage(cmp.Or(c.Field("storage"), "root:8(local)"))
	if problem != "" {
		bad := rest.BadFieldReply("storage", problem)
		return nil, &bad
	}
	parts, _ := request.ReadInterfaces(c.Field("interfaces"))
	for _, h := range world.SortedHosts(w.Hosts) {
		v := hosts.ComposeRequest{
			Host: h, Disks: disks, Cores: c.NumberField("cpu_count", 1), MemoryMiB: int64(c.NumberField("mem", 2048)),
			Zone: w.DefaultZone(), Pool: h.Pool, Domain: w.Domains[0], SkipCommissioning: true, Commissioner: c.User,
		}
		if !canComposeOn(c, h) || v.Cores < 1 || v.Cores > h.Cores || v.MemoryMiB < hosts.MinMemoryMiB || v.MemoryMiB > h.MemoryMiB {
			continue
		}
		if bad := v.AttachNetworks(w, parts); bad != nil {
			continue
		}
		if m, bad := hosts.ComposeVM(w, &v); bad == nil {
			m.Dynamic = true
			return m, nil
		}
	}
	return nil, nil
}
