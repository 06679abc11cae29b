package sim

import (
	"cmp"
	"maps"
	"slices"
)

// consoleTag is on every VM host, whatever tags it is given.
const consoleTag = "pod-console-logging"

// vmHost is MAAS's record of an LXD project: a pod, in its database.
type vmHost struct {
	w                  *world
	id                 int
	name               string
	bmc                *bmc
	zone               *zone
	pool               *pool
	tags               []string
	cpuRatio, memRatio float64
	macvlanMode        *string
	defaultPool        string
	version            string
	capabilities       []string
	architectures      []string
	pools              []StoragePoolModel // as of the last discovery
	cores              int
	memoryMiB          int64
	machine            *machine // the host machine; nil after a sibling was deleted
	inventory          *job
}

func sortedHosts(hosts map[int]*vmHost) []*vmHost {
	return slices.SortedFunc(maps.Values(hosts), func(a, b *vmHost) int { return cmp.Compare(a.id, b.id) })
}

// server is the LXD behind the host's address, nil if nothing listens there.
func (h *vmHost) server() *lxdServer { return h.w.lxdAt(h.bmc.address) }

// vms are the machines of this host, in order of creation.
func (h *vmHost) vms() []*machine {
	return slices.DeleteFunc(sortedMachines(h.w.machines), func(m *machine) bool { return m.host() != h })
}

// usage is what MAAS counts as used: its machines' share, not what LXD runs.
type usage struct {
	cores     int
	memoryMiB int64
	bytes     int64            // of all disks
	byPool    map[string]int64 // bytes by storage pool
}

func (h *vmHost) usage() usage {
	u := usage{byPool: map[string]int64{}}
	for _, m := range h.w.machines {
		if m.host() != h {
			continue
		}
		u.cores += m.cores
		u.memoryMiB += m.memoryMiB
		for _, d := range m.disks {
			u.bytes += d.sizeBytes
			u.byPool[or(d.pool, h.defaultPool)] += d.sizeBytes
		}
	}
	return u
}

func (h *vmHost) totalStorage() (n int64) {
	for _, p := range h.pools {
		n += p.SizeBytes
	}
	return n
}

// setTags writes the words by which a VM host is found. They are no tags of MAAS
// until a machine of the host gets them; MAAS makes only its own at once
// (vmhost.py, _discover_and_sync_vmhost).
func (h *vmHost) setTags(tags []string) {
	h.w.ensureTag(consoleTag)
	h.tags = slices.Clone(tags)
	if !slices.Contains(h.tags, consoleTag) {
		h.tags = append(h.tags, consoleTag)
	}
}

// view is the VM host as an answer shows it.
func (h *vmHost) view() object {
	used, total := h.usage(), h.totalStorage()
	var host any
	if h.machine != nil {
		host = h.machine.systemID
	}
	return object{
		"id": h.id, "name": h.name, "type": "lxd", "version": h.version,
		"resource_uri":             uri("vm-hosts", h.id),
		"zone":                     h.zone.view(),
		"pool":                     h.pool.view(),
		"tags":                     list(h.tags),
		"capabilities":             list(h.capabilities),
		"architectures":            list(h.architectures),
		"cpu_over_commit_ratio":    float(h.cpuRatio),
		"memory_over_commit_ratio": float(h.memRatio),
		"default_macvlan_mode":     h.macvlanMode,
		"host":                     object{"system_id": host, "__incomplete__": true},
		"storage_pools":            h.poolViews(used),
		"total":                    resources(h.cores, h.memoryMiB, total),
		"used":                     resources(used.cores, used.memoryMiB, used.bytes),
		"available":                resources(h.cores-used.cores, h.memoryMiB-used.memoryMiB, total-used.bytes),
	}
}

func resources(cores int, memoryMiB, storageBytes int64) object {
	return object{"cores": cores, "memory": memoryMiB, "local_storage": storageBytes}
}

func (h *vmHost) poolViews(u usage) []object {
	views := []object{}
	for _, p := range h.pools {
		used := u.byPool[p.Name]
		views = append(views, object{
			"id": p.Name, "name": p.Name, "type": p.Driver,
			"path":  "/var/snap/lxd/common/lxd/storage-pools/" + p.Name,
			"total": p.SizeBytes, "used": used, "available": p.SizeBytes - used,
			"default": p.Name == h.defaultPool,
		})
	}
	return views
}
