package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// durations maps names in files to fields.
func (l *Latency) durations() map[string]*time.Duration {
	return map[string]*time.Duration{
		"call": &l.Call, "compose": &l.Compose, "commission": &l.Commission,
		"deploy": &l.Deploy, "first_boot": &l.FirstBoot, "first_boot_most": &l.FirstBootMost, "release": &l.Release, "power_on": &l.PowerOn,
		"power_off": &l.PowerOff, "refresh": &l.Refresh,
		"inventory": &l.Inventory, "delete": &l.Delete,
	}
}

// MarshalJSON writes the latencies that are not zero.
func (l Latency) MarshalJSON() ([]byte, error) {
	out := map[string]string{}
	for name, d := range l.durations() {
		if *d != 0 {
			out[name] = d.String()
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads texts like "300ms" and refuses unknown names.
func (l *Latency) UnmarshalJSON(data []byte) error {
	var in map[string]string
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf(`latency: want an object of texts like "300ms": %w`, err)
	}
	known := l.durations()
	for name, text := range in {
		field, ok := known[name]
		if !ok {
			return fmt.Errorf("latency.%s: no such latency", name)
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("latency.%s: %w", name, err)
		}
		*field = d
	}
	return nil
}

// DefaultModel is a small useful world: three VM hosts in two zones and two machines. Only
// the operations of power and LXD take time, so that something can happen while a VM
// starts or is deleted.
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

// ReadModel reads a model from JSON. An unknown field is an error, so that a misspelled
// field does not silently mean the default.
func ReadModel(r io.Reader) (Model, error) {
	var m Model
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Model{}, fmt.Errorf("cannot read model: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Model{}, errors.New("cannot read model: there is more text after it")
	}
	return m, nil
}
