package host

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
)

// ownerDataOf is what the machine notes about its VM host: the wanted values, and otherwise
// those that MAAS gave it.
func (h *stepBase) ownerDataOf(key engine.Key, want engine.HostSpec, record engine.VMHost, m engine.Machine) map[string]string {
	r := engine.HostRecord{
		Name: cmp.Or(want.Name, record.Name), Endpoint: engine.Endpoint{Project: want.Project, Address: m.OwnerData[engine.AddressData]},
		Zone: cmp.Or(want.Zone, record.Zone), Pool: cmp.Or(want.Pool, record.Pool), Tags: finalTagsOf(want, key, record),
		CPUOvercommit:      cmp.Or(want.CPUOvercommit, record.CPUOvercommit),
		MemoryOvercommit:   cmp.Or(want.MemoryOvercommit, record.MemoryOvercommit),
		DefaultStoragePool: cmp.Or(want.DefaultStoragePool, record.DefaultPool()),
	}
	if e, err := endpointOf(want, m); err == nil {
		r.Address = e.Address
	}
	data := r.OwnerData()
	// With composer "lxd" the record has no number. MAAS may still have the VM host that the note
	// names, and a delete must find it.
	data[engine.KeyData], data[engine.VMHostData] = string(key), m.OwnerData[engine.VMHostData]
	if record.MAASMakesVMs() {
		data[engine.VMHostData] = strconv.Itoa(record.ID)
	}
	if m.OwnerData[engine.StateData] == "" {
		data[engine.StateData] = initialState(want)
	}
	return data
}

// finalTagsOf are the tags that the host has in the end, sorted.
func finalTagsOf(want engine.HostSpec, key engine.Key, record engine.VMHost) []string {
	surplus := append(slices.Clone(want.RemovedTags), engine.MarkerOf(key))
	all := slices.DeleteFunc(slices.Concat(record.Tags, want.Tags), func(t string) bool {
		return slices.Contains(surplus, t) && !slices.Contains(want.Tags, t)
	})
	slices.Sort(all)
	return slices.Compact(all)
}
