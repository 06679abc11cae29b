package view

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// VMHost is the VM host as an answer shows it.
func VMHost(h *world.VMHost) rest.Object {
	used, total := h.Usage(), h.TotalStorage()
	var host any
	if h.Machine != nil {
		host = h.Machine.SystemID
	}
	return rest.Object{
		"id": h.ID, "name": h.Name, "type": "lxd", "version": h.Version,
		"resource_uri":             rest.URI("vm-hosts", h.ID),
		"zone":                     Zone(h.Zone),
		"pool":                     Pool(h.Pool),
		"tags":                     rest.NonNilList(h.Tags),
		"capabilities":             rest.NonNilList(h.Capabilities),
		"architectures":            rest.NonNilList(h.Architectures),
		"cpu_over_commit_ratio":    rest.Float(h.CPURatio),
		"memory_over_commit_ratio": rest.Float(h.MemRatio),
		"default_macvlan_mode":     h.MacvlanMode,
		"host":                     rest.Object{"system_id": host, "__incomplete__": true},
		"storage_pools":            poolViews(h, used),
		"total":                    resourcesView(h.Cores, h.MemoryMiB, total),
		"used":                     resourcesView(used.Cores, used.MemoryMiB, used.Bytes),
		"available":                resourcesView(h.Cores-used.Cores, h.MemoryMiB-used.MemoryMiB, total-used.Bytes),
	}
}

func resourcesView(cores int, memoryMiB, storageBytes int64) rest.Object {
	return rest.Object{"cores": cores, "memory": memoryMiB, "local_storage": storageBytes}
}

func poolViews(h *world.VMHost, u world.Usage) []rest.Object {
	views := []rest.Object{}
	for _, p := range h.Pools {
		used := u.ByPool[p.Name]
		views = append(views, rest.Object{
			"id": p.Name, "name": p.Name, "type": p.Driver,
			"path":  p.StoragePath(),
			"total": p.SizeBytes, "used": used, "available": p.SizeBytes - used,
			"default": p.Name == h.DefaultPool,
		})
	}
	return views
}
