package sim

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

func lxdServerRoutes() []lxdRoute {
	return []lxdRoute{
		{http.MethodGet, "", lxdPublic, func(*lxdCall) reply { return synced([]string{"/1.0"}) }},
		{http.MethodGet, "1.0", lxdPublic, readServer},
		{http.MethodPut, "1.0", lxdAdmin, putServer},
		{http.MethodPatch, "1.0", lxdAdmin, patchServer},
		{http.MethodGet, "1.0/resources", lxdTrusted, readResources},
		{http.MethodGet, "1.0/warnings", lxdAdmin, func(*lxdCall) reply { return synced([]string{}) }},
	}
}

// readServer tells those who are not trusted only what they need to know.
func readServer(c *lxdCall) reply {
	public := api.ServerUntrusted{
		APIExtensions: c.l.extensions(), APIStatus: "stable", APIVersion: "1.0", Auth: "untrusted", AuthMethods: []string{"tls"},
	}
	if !c.trusted {
		return tagged(public, public)
	}
	environment, bad := c.environment()
	if bad != nil {
		return *bad
	}
	public.Auth = "trusted"
	server := api.Server{ServerUntrusted: public, Environment: environment, AuthUserName: fingerprint(c.trust.certificate), AuthUserMethod: "tls"}
	if !c.trust.restricted {
		server.Config = c.l.serverConfig()
	}
	return tagged(server, server.Config)
}

// serverConfig is the LXD's configuration; passwords show as true.
func (l *lxdServer) serverConfig() map[string]any {
	config := map[string]any{"core.https_address": l.httpsAddress()}
	for key, value := range l.config {
		config[key] = value
	}
	if l.password != "" {
		config["core.trust_password"] = true
	}
	return config
}

// httpsAddress is core.https_address.
func (l *lxdServer) httpsAddress() string {
	if l.metal != nil && !l.bound() {
		return "[::]:" + l.listen
	}
	return l.address
}

func (c *lxdCall) environment() (api.ServerEnvironment, *reply) {
	l := c.l
	shown, err := l.shown()
	if err != nil {
		bad := lxdBroken("%v", err)
		return api.ServerEnvironment{}, &bad
	}
	e := api.ServerEnvironment{
		Addresses: l.addresses(), Architectures: []string{"x86_64", "i686"}, Certificate: shown.certificate,
		CertificateFingerprint: fingerprint(shown.certificate), Driver: "lxc | qemu", DriverVersion: "5.0.2 | 8.0.5",
		InstanceTypes: []string{"container", "virtual-machine"}, Firewall: "nftables", Kernel: "Linux", KernelArchitecture: "x86_64",
		KernelVersion: "5.15.0-generic", OSName: "Ubuntu", OSVersion: "22.04", Project: c.project, Server: "lxd",
		ServerEventMode: "full-mesh", ServerName: l.name, ServerPid: 1000 + len(l.name), ServerVersion: l.version,
		ServerLTS:      strings.HasPrefix(l.version, "5.0.") || strings.HasPrefix(l.version, "5.21."),
		KernelFeatures: map[string]string{}, LXCFeatures: map[string]string{},
	}
	drivers := []string{}
	for _, p := range l.pools {
		if !slices.Contains(drivers, p.Driver) {
			drivers = append(drivers, p.Driver)
		}
	}
	e.Storage, e.StorageVersion = strings.Join(drivers, " | "), strings.TrimSuffix(strings.Repeat("1 | ", len(drivers)), " | ")
	for _, name := range []string{"dir", "btrfs", "lvm", "zfs", "ceph"} {
		e.StorageSupportedDrivers = append(e.StorageSupportedDrivers, api.ServerStorageDriverInfo{Name: name, Version: "1", Remote: name == "ceph"})
	}
	return e, nil
}

func putServer(c *lxdCall) reply { return c.configureServer(map[string]any{}) }

func patchServer(c *lxdCall) reply { return c.configureServer(c.l.serverConfig()) }

// configureServer writes what the call says on top of what stays.
func (c *lxdCall) configureServer(next map[string]any) reply {
	l := c.l
	if bad := c.unchanged(l.serverConfig()); bad != nil {
		return *bad
	}
	var in api.ServerPut
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	maps.Copy(next, in.Config)
	config, password := map[string]string{}, ""
	for _, key := range slices.Sorted(maps.Keys(next)) {
		value := textOf(next[key])
		area, name, _ := strings.Cut(key, ".")
		names, known := serverKeys[area]
		switch {
		case !(known || area == "user") || len(names) > 0 && !slices.Contains(names, name), key == "core.trust_password" && l.since(withoutPassword):
			return lxdBad("cannot set %q to %q: unknown key", key, value)
		case key == "core.https_address" && value != l.httpsAddress():
			return lxdBroken("Cannot listen on network HTTPS socket: listen tcp %s: bind: cannot assign requested address", value)
		case key == "core.https_address":
		case key == "core.trust_password" && value == "true":
			password = l.password
		case key == "core.trust_password":
			password = value
		default:
			config[key] = value
		}
	}
	l.config, l.password = config, password
	return done()
}

// textOf is a value of the configuration as LXD keeps it.
func textOf(value any) string {
	return texts(map[string]any{"": value})[""]
}

// readResources is the machine's hardware: cores without threads on one
// socket, all memory on one node.
func readResources(c *lxdCall) reply {
	l, used := c.l, c.l.use()
	cores := []api.ResourcesCPUCore{}
	for n := range l.cores {
		cores = append(cores, api.ResourcesCPUCore{Core: uint64(n), Threads: []api.ResourcesCPUThread{{ID: int64(n), Online: true}}, Frequency: 2400})
	}
	total, held := uint64(l.memoryMiB)<<20, uint64(min(used.MemoryMiB, l.memoryMiB))<<20
	out := api.Resources{
		CPU: api.ResourcesCPU{Architecture: "x86_64", Total: uint64(l.cores), Sockets: []api.ResourcesCPUSocket{{
			Name: "Intel(R) Xeon(R) Processor", Vendor: "GenuineIntel", Cores: cores, Frequency: 2400,
		}}},
		Memory: api.ResourcesMemory{Total: total, Used: held, HugepagesSize: 2 << 20, Nodes: []api.ResourcesMemoryNode{{Total: total, Used: held}}},
		GPU:    api.ResourcesGPU{Cards: []api.ResourcesGPUCard{}}, USB: api.ResourcesUSB{Devices: []api.ResourcesUSBDevice{}},
		PCI: api.ResourcesPCI{Devices: []api.ResourcesPCIDevice{}}, Storage: l.diskResources(), Network: l.cardResources(),
		System: api.ResourcesSystem{Vendor: "QEMU", Family: "Virtual Machine", Type: "virtual-machine"},
	}
	return synced(out)
}

func (l *lxdServer) diskResources() api.ResourcesStorage {
	out := api.ResourcesStorage{Disks: []api.ResourcesStorageDisk{}}
	m := or(l.metal, l.hostMachine)
	if m == nil {
		return out
	}
	for n, d := range m.disks {
		out.Disks = append(out.Disks, api.ResourcesStorageDisk{
			ID: d.name, Device: "8:" + strconv.Itoa(16*n), Model: or(d.model, "QEMU HARDDISK"), Type: "scsi", Size: uint64(d.sizeBytes),
			BlockSize: 512, Serial: d.serial, DeviceID: strings.TrimPrefix(d.idPath, "/dev/disk/by-id/"), Mounted: n == 0,
			Partitions: []api.ResourcesStorageDiskPartition{},
		})
	}
	out.Total = uint64(len(out.Disks))
	return out
}

func (l *lxdServer) cardResources() api.ResourcesNetwork {
	out := api.ResourcesNetwork{Cards: []api.ResourcesNetworkCard{}}
	for _, i := range l.interfaces() {
		if i.kind != "physical" {
			continue
		}
		out.Cards = append(out.Cards, api.ResourcesNetworkCard{Driver: "virtio_net", Ports: []api.ResourcesNetworkCardPort{{
			ID: i.name, Address: i.mac, Protocol: "ethernet", LinkDetected: true, LinkSpeed: 10000, LinkDuplex: "full", AutoNegotiation: true,
		}}})
	}
	out.Total = uint64(len(out.Cards))
	return out
}
