package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
)

// ownerDataOf is what the machine notes about its VM host: the wanted values, and otherwise
// those that MAAS gave it. address is that of its LXD.
func (h *stepBase) ownerDataOf(key engine.Key, want engine.HostSpec, record engine.VMHost, m engine.Machine, address string) map[string]string {
	r := engine.HostRecord{
		Name: cmp.Or(want.Name, record.Name), Endpoint: engine.Endpoint{Project: want.Project, Address: address},
		Zone: cmp.Or(want.Zone, record.Zone), Pool: cmp.Or(want.Pool, record.Pool), Tags: finalTagsOf(want, key, record),
		CPUOvercommit:      cmp.Or(want.CPUOvercommit, record.CPUOvercommit),
		MemoryOvercommit:   cmp.Or(want.MemoryOvercommit, record.MemoryOvercommit),
		DefaultStoragePool: cmp.Or(want.DefaultStoragePool, record.DefaultPool()),
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

// noteRecord writes the record of the VM host on its machine. server is the fingerprint of the
// certificate that its LXD showed.
func (h *stepBase) noteRecord(ctx context.Context, ref engine.Ref, want engine.HostSpec, record engine.VMHost, m engine.Machine, server string) (engine.Machine, error) {
	address, err := h.addressToNote(ctx, ref, want, record, m)
	if err != nil {
		return m, err
	}
	data := h.ownerDataOf(ref.Key, want, record, m, address)
	data[engine.ServerFingerprintData] = server
	return h.Annotate(ctx, m, data)
}

// addressToNote is the address of the LXD that the machine notes. Somebody else may have
// registered the VM host by another address than the machine's own, and only MAAS knows it. Where
// MAAS has no VM hosts, the LXD has just answered at the noted address.
func (h *stepBase) addressToNote(ctx context.Context, ref engine.Ref, want engine.HostSpec, record engine.VMHost, m engine.Machine) (string, error) {
	noted := m.OwnerData[engine.AddressData]
	switch isOld := want.Machine.Adopt || ref.Finished; {
	case isOld && noted != "" && (record.MAASMakesVMs() || want.Address == ""):
		return noted, nil
	case record.MAASMakesVMs() && isOld:
		e, err := h.Registrar.Endpoint(ctx, record)
		if err != nil {
			return "", fmt.Errorf("cannot read the address of the LXD of VM host %s: %w", record.Name, err)
		}
		return e.URL(), nil
	}
	if e, err := endpointOf(want, m); err == nil {
		return e.Address, nil
	}
	return noted, nil
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
