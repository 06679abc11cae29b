package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// DefaultModel is a small useful world: three VM hosts in two zones and two
// machines. Transitions take no time but for that which power and LXD need, so
// that what happens while a VM starts or goes can happen.
func DefaultModel() Model {
	host := func(name, zone string) HostModel {
		return HostModel{Name: name, Cores: 16, MemoryMiB: 65536, Zone: zone,
			StoragePools: []StoragePoolModel{{Name: "default", SizeGB: 500, Default: true}, {Name: "fast", SizeGB: 200}}}
	}
	return Model{
		Zones: []string{"az1", "az2"},
		Pools: []string{"prod"},
		Hosts: []HostModel{host("host1", "az1"), host("host2", "az1"), host("host3", "az2")},
		Machines: []MachineModel{
			{Hostname: "metal1", Cores: 8, MemoryMiB: 32768, DiskGB: 480, Zone: "az1"},
			{Hostname: "metal2", Cores: 8, MemoryMiB: 32768, DiskGB: 480, Zone: "az2"},
		},
		Latency: Latency{PowerOn: time.Second, PowerOff: time.Second, Delete: 300 * time.Millisecond},
	}
}

// ReadModel reads a model from JSON. A field that no model has is an error, so
// that a slip of the pen does not silently mean the default.
func ReadModel(r io.Reader) (Model, error) {
	var m Model
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Model{}, fmt.Errorf("cannot read model: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Model{}, errors.New("cannot read model: something follows it")
	}
	return m, nil
}
