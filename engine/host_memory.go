package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// HostTag is the tag that the machines of LXD hosts carry in MAAS, so that one
// listing finds them all, whether MAAS has VM hosts or not.
const HostTag = "maaslxd-host"

// Owner data of a host's machine: what MAAS will forget of its VM host when it
// drops VM hosts, so that a fleet can be taken over. Where MAAS has none, they
// are all that is known of the host.
const (
	vmHostData           = "maaslxd-vm-host"
	nameData             = "maaslxd-name"
	projectData          = "maaslxd-project"
	addressData          = "maaslxd-address"
	zoneData             = "maaslxd-zone"
	poolData             = "maaslxd-pool"
	tagsData             = "maaslxd-tags"
	cpuOvercommitData    = "maaslxd-cpu-overcommit"
	memoryOvercommitData = "maaslxd-memory-overcommit"
	storagePoolData      = "maaslxd-storage-pool"
)

// HostRecord is what the machine of an LXD host says of it.
type HostRecord struct {
	Name string
	Endpoint
	Zone string
	Pool string // resource pool
	Tags []string
	// CPUOvercommit and MemoryOvercommit are ratios; zero: none is noted.
	CPUOvercommit    float64
	MemoryOvercommit float64
	// DefaultStoragePool is where disks go that name no pool; empty: LXD's first.
	DefaultStoragePool string
	// ServerFingerprint is that of the certificate which the LXD was seen with;
	// empty: nobody has noted it.
	ServerFingerprint string
}

// HostRecord reads what the machine says; ok is false for a machine that is no
// LXD host of ours, as it tells by its tag and the address of its LXD. Where it
// says nothing, name, zone and pool are the machine's own.
func (m Machine) HostRecord() (record HostRecord, ok bool) {
	data := m.OwnerData
	if data[addressData] == "" || !slices.Contains(m.Tags, HostTag) {
		return HostRecord{}, false
	}
	record = HostRecord{
		Name: cmp.Or(data[nameData], m.Hostname), Zone: cmp.Or(data[zoneData], m.Zone), Pool: cmp.Or(data[poolData], m.Pool),
		Endpoint:           Endpoint{Address: data[addressData], Project: data[projectData]},
		DefaultStoragePool: data[storagePoolData], ServerFingerprint: data[serverData],
	}
	if data[tagsData] != "" {
		record.Tags = strings.Split(data[tagsData], ",")
	}
	record.CPUOvercommit, _ = strconv.ParseFloat(data[cpuOvercommitData], 64) // what is no number is none
	record.MemoryOvercommit, _ = strconv.ParseFloat(data[memoryOvercommitData], 64)
	return record, true
}

// OwnerData is how a machine says it, but for the certificate, which is noted
// when it is seen. An empty value says that there is none.
func (r HostRecord) OwnerData() map[string]string {
	return map[string]string{
		nameData: r.Name, addressData: r.Address, projectData: r.Project, zoneData: r.Zone, poolData: r.Pool,
		tagsData: strings.Join(r.Tags, ","), storagePoolData: r.DefaultStoragePool,
		cpuOvercommitData: ratio(r.CPUOvercommit), memoryOvercommitData: ratio(r.MemoryOvercommit),
	}
}

func ratio(r float64) string {
	if r == 0 {
		return ""
	}
	return strconv.FormatFloat(r, 'g', -1, 64)
}

// memory is what the machine is to remember of its VM host: what is wanted, and
// where nothing is, what MAAS has given it.
func (h *hosts) memory(key Key, want HostSpec, record VMHost, m Machine) map[string]string {
	r := HostRecord{
		Name: cmp.Or(want.Name, record.Name), Endpoint: Endpoint{Project: want.Project, Address: m.OwnerData[addressData]},
		Zone: cmp.Or(want.Zone, record.Zone), Pool: cmp.Or(want.Pool, record.Pool), Tags: want.tags(key, record),
		CPUOvercommit:      cmp.Or(want.CPUOvercommit, record.CPUOvercommit),
		MemoryOvercommit:   cmp.Or(want.MemoryOvercommit, record.MemoryOvercommit),
		DefaultStoragePool: cmp.Or(want.DefaultStoragePool, record.defaultPool()),
	}
	if e, err := want.endpoint(m); err == nil {
		r.Address = e.Address
	}
	data := r.OwnerData()
	data[keyData], data[vmHostData] = string(key), ""
	if record.ID != 0 {
		data[vmHostData] = strconv.Itoa(record.ID)
	}
	if m.OwnerData[stateData] == "" {
		data[stateData] = begunState(want)
	}
	return data
}

// tags are those that the host is to have in the end, sorted.
func (want HostSpec) tags(key Key, record VMHost) []string {
	surplus := append(slices.Clone(want.RemovedTags), marker(key))
	all := slices.DeleteFunc(slices.Concat(record.Tags, want.Tags), func(t string) bool {
		return slices.Contains(surplus, t) && !slices.Contains(want.Tags, t)
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// defaultPool is the storage pool that disks go to which name none; empty: not
// known.
func (h VMHost) defaultPool() string {
	for _, p := range h.StoragePools {
		if p.Default {
			return p.Name
		}
	}
	return ""
}
