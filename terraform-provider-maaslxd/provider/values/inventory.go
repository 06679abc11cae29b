package values

import "github.com/maaslxd/maaslxd/engine"

// bytesPerGB: MAAS counts disks in decimal gigabytes.
const bytesPerGB = 1_000_000_000

// Amount is the cores or the memory in MiB of a VM host, as attributes.
type Amount struct {
	Total int64 `tfsdk:"total"`
	Used  int64 `tfsdk:"used"`
	Free  int64 `tfsdk:"free"`
}

// StoragePool is a storage pool of a VM host, as attributes.
type StoragePool struct {
	Driver  string `tfsdk:"driver"`
	TotalGB int64  `tfsdk:"total_gb"`
	FreeGB  int64  `tfsdk:"free_gb"`
	Default bool   `tfsdk:"default"`
}

// NewStoragePool converts a storage pool of the engine, with sizes in GB rounded down.
func NewStoragePool(p engine.StoragePool) StoragePool {
	return StoragePool{Driver: p.Driver, TotalGB: p.TotalBytes / bytesPerGB, FreeGB: p.AvailableBytes / bytesPerGB, Default: p.Default}
}

// HasInventory tells whether MAAS has reached the LXD.
func HasInventory(v engine.VMHost) bool {
	return v.HostKey != "" && v.Version != "" && v.Cores.Total > 0
}

// LinkedIPs lists the addresses of an interface.
func LinkedIPs(i engine.MachineInterface) []string {
	var ips []string
	for _, l := range i.Links {
		if l.IP != "" {
			ips = append(ips, l.IP)
		}
	}
	return ips
}
