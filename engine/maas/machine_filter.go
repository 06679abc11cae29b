package maas

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

const (
	// maxQueryBytes bounds the query of a listing, in bytes: half of the 8 KB that nginx
	// accepts for the first line of a request, less the path.
	maxQueryBytes = 3800
	// maxHostsPerQuery bounds the VM hosts of one listing. 20 hosts with 100 VMs each, at
	// 30 KB a machine, stay below the limits of an answer.
	maxHostsPerQuery = 20
)

// statusFilters are MAAS's filter names of statuses, indexed by number (enum.py,
// NODE_STATUS).
var statusFilters = []string{
	"new", "commissioning", "failed_commissioning", "missing", "ready", "reserved", "deployed", "retired", "broken",
	"deploying", "allocated", "failed_deployment", "releasing", "failed_releasing", "disk_erasing",
	"failed_disk_erasing", "rescue_mode", "entering_rescue_mode", "failed_entering_rescue_mode",
	"exiting_rescue_mode", "failed_exiting_rescue_mode", "testing", "failed_testing",
}

// MachinesWhere implements engine.Machines. Many VM hosts take several requests, which see
// MAAS at different moments.
func (c *Machines) MachinesWhere(ctx context.Context, f engine.MachineFilter) ([]engine.Machine, error) {
	query, err := filterQuery(f)
	if err != nil {
		return nil, err
	}
	var found []engine.Machine
	listed := map[string]bool{}
	for _, part := range splitByHosts(query, f.Hosts) {
		machines, err := c.listMatching(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, m := range machines {
			if !listed[m.SystemID] {
				listed[m.SystemID] = true
				found = append(found, m)
			}
		}
	}
	return found, nil
}

// filterQuery returns the query of a filter, without its hosts. A machine must have all
// repeated tags. For other repeated parameters MAAS accepts any of the values.
func filterQuery(f engine.MachineFilter) (url.Values, error) {
	query := url.Values{}
	if f.MAC != "" {
		query.Set("mac_address", f.MAC)
	}
	for name, value := range map[string]string{"zone": f.Zone, "pool": f.Pool, "agent_name": f.Agent} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(f.Tags) > 0 {
		query["tags"] = f.Tags
	}
	switch {
	case f.Status < 0 || int(f.Status) >= len(statusFilters):
		return nil, fmt.Errorf("MAAS has no machine status %d: %w", f.Status, engine.ErrInvalid)
	case f.Status != engine.StatusNew: // the zero value stands for all statuses
		query.Set("status", statusFilters[f.Status])
	}
	return query, nil
}

// splitByHosts spreads the names of VM hosts over as many queries as they need. Without
// names it returns one query.
func splitByHosts(query url.Values, hosts []string) []url.Values {
	names := slices.Compact(slices.Sorted(slices.Values(hosts)))
	if len(names) == 0 {
		return []url.Values{query}
	}
	var parts []url.Values
	for len(names) > 0 {
		part, n := maps.Clone(query), countHostsInQuery(query, names)
		part["pod"], names = names[:n], names[n:]
		parts = append(parts, part)
	}
	return parts
}

// countHostsInQuery returns how many names fit into one query, at least one.
func countHostsInQuery(query url.Values, names []string) int {
	size := len(query.Encode())
	for i, name := range names {
		size += len("&pod=") + len(url.QueryEscape(name))
		if i > 0 && size > maxQueryBytes || i == maxHostsPerQuery {
			return i
		}
	}
	return len(names)
}

// listMatching reads one listing. MAAS answers an unknown tag, zone or pool with a form
// error. That counts as no match.
func (c *Machines) listMatching(ctx context.Context, query url.Values) ([]engine.Machine, error) {
	r := api.NewGet("machines/")
	r.Query = query
	machines, err := c.listMachines(ctx, r)
	if e, ok := api.AsError(err); ok && e.Status == http.StatusBadRequest && refusesOnlyNames(e.FieldMessages) {
		return nil, nil
	}
	return machines, err
}

// refusesOnlyNames reports whether MAAS refused only unknown names.
func refusesOnlyNames(refused map[string][]string) bool {
	for field := range refused {
		if field != "tags" && field != "zone" && field != "pool" {
			return false
		}
	}
	return len(refused) > 0
}
