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
	busy               bool // a refresh or an update is listing
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

func (h *vmHost) usedCores() (n int) {
	for _, m := range h.vms() {
		n += m.cores
	}
	return n
}

func (h *vmHost) usedMemory() (n int64) {
	for _, m := range h.vms() {
		n += m.memoryMiB
	}
	return n
}

// usedStorage is the bytes that MAAS's VMs take from a pool; empty means all
// pools.
func (h *vmHost) usedStorage(pool string) (n int64) {
	for _, m := range h.vms() {
		for _, d := range m.disks {
			if pool == "" || d.storagePool == pool || d.storagePool == "" && pool == h.defaultPool {
				n += d.sizeBytes
			}
		}
	}
	return n
}

func (h *vmHost) totalStorage() (n int64) {
	for _, p := range h.pools {
		n += p.SizeBytes
	}
	return n
}

func (h *vmHost) setTags(tags []string) {
	h.tags = slices.Clone(tags)
	if !slices.Contains(h.tags, consoleTag) {
		h.tags = append(h.tags, consoleTag)
	}
}

// view is the VM host as an answer shows it.
func (h *vmHost) view() object {
	cores, memory, storage := h.usedCores(), h.usedMemory(), h.usedStorage("")
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
		"storage_pools":            h.poolViews(),
		"total":                    resources(h.cores, h.memoryMiB, h.totalStorage()),
		"used":                     resources(cores, memory, storage),
		"available":                resources(h.cores-cores, h.memoryMiB-memory, h.totalStorage()-storage),
	}
}

func resources(cores int, memoryMiB, storageBytes int64) object {
	return object{"cores": cores, "memory": memoryMiB, "local_storage": storageBytes}
}

func (h *vmHost) poolViews() []object {
	views := []object{}
	for _, p := range h.pools {
		used := h.usedStorage(p.Name)
		views = append(views, object{
			"id": p.Name, "name": p.Name, "type": p.Driver,
			"path":  "/var/snap/lxd/common/lxd/storage-pools/" + p.Name,
			"total": p.SizeBytes, "used": used, "available": p.SizeBytes - used,
			"default": p.Name == h.defaultPool,
		})
	}
	return views
}
