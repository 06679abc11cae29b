package lxd

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func serverRoutes() []Route {
	return []Route{
		{http.MethodGet, "", accessPublic, func(*Call) rest.Reply { return syncReply([]string{"/1.0"}) }},
		{http.MethodGet, "1.0", accessPublic, readServer},
		{http.MethodPut, "1.0", accessAdmin, putServer},
		{http.MethodPatch, "1.0", accessAdmin, patchServer},
		{http.MethodGet, "1.0/resources", accessTrusted, readResources},
		{http.MethodGet, "1.0/warnings", accessAdmin, func(*Call) rest.Reply { return syncReply([]string{}) }},
	}
}

// readServer shows a client that is not trusted only the public part.
func readServer(c *Call) rest.Reply {
	public := api.ServerUntrusted{
		APIExtensions: extensions(c.LXD), APIStatus: "stable", APIVersion: "1.0", Auth: "untrusted", AuthMethods: []string{"tls"},
	}
	if !c.trusted {
		return taggedReply(public, public)
	}
	environment, bad := environment(c)
	if bad != nil {
		return *bad
	}
	public.Auth = "trusted"
	server := api.Server{ServerUntrusted: public, Environment: environment, AuthUserName: daemon.Fingerprint(c.trust.Certificate), AuthUserMethod: "tls"}
	if !c.trust.Restricted {
		server.Config = serverConfig(c.LXD)
	}
	return taggedReply(server, server.Config)
}

// serverConfig is the LXD's configuration. It shows a password as true.
func serverConfig(l *world.LXD) map[string]any {
	config := map[string]any{"core.https_address": httpsAddress(l)}
	for key, value := range l.Config {
		config[key] = value
	}
	if l.Password != "" {
		config["core.trust_password"] = true
	}
	return config
}

// httpsAddress is core.https_address.
func httpsAddress(l *world.LXD) string {
	if l.Metal != nil && !l.IsBound() {
		return "[::]:" + l.Listen
	}
	return l.Address
}

func environment(c *Call) (api.ServerEnvironment, *rest.Reply) {
	l := c.LXD
	shown, err := l.EnsureIdentity()
	if err != nil {
		bad := InternalErrorReply("%v", err)
		return api.ServerEnvironment{}, &bad
	}
	e := api.ServerEnvironment{
		Addresses: l.Addresses(), Architectures: l.KernelArchitectures(), Certificate: shown.Certificate,
		CertificateFingerprint: daemon.Fingerprint(shown.Certificate), Driver: "lxc | qemu", DriverVersion: "5.0.2 | 8.0.5",
		InstanceTypes: []string{"container", "virtual-machine"}, Firewall: "nftables", Kernel: "Linux", KernelArchitecture: l.KernelArchitecture(),
		KernelVersion: "5.15.0-generic", OSName: "Ubuntu", OSVersion: "22.04", Project: c.Project, Server: "lxd",
		ServerEventMode: "full-mesh", ServerName: l.Name, ServerPid: 1000 + len(l.Name), ServerVersion: l.Version,
		ServerLTS:      strings.HasPrefix(l.Version, "5.0.") || strings.HasPrefix(l.Version, "5.21."),
		KernelFeatures: map[string]string{}, LXCFeatures: map[string]string{},
	}
	drivers := []string{}
	for _, p := range l.Pools {
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

func putServer(c *Call) rest.Reply { return configureServer(c, map[string]any{}) }

func patchServer(c *Call) rest.Reply { return configureServer(c, serverConfig(c.LXD)) }

// configureServer merges the values of the call into the configuration.
func configureServer(c *Call, next map[string]any) rest.Reply {
	l := c.LXD
	if bad := c.checkETag(serverConfig(l)); bad != nil {
		return *bad
	}
	var in api.ServerPut
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	maps.Copy(next, in.Config)
	config, password := map[string]string{}, ""
	for _, key := range slices.Sorted(maps.Keys(next)) {
		value := textOf(next[key])
		area, name, _ := strings.Cut(key, ".")
		names, known := daemon.ServerKeys[area]
		switch {
		case !(known || area == "user") || len(names) > 0 && !slices.Contains(names, name), key == "core.trust_password" && l.IsAtLeast(daemon.VersionWithoutPassword):
			return BadRequestReply("cannot set %q to %q: unknown key", key, value)
		case key == "core.https_address" && value != httpsAddress(l):
			return InternalErrorReply("Cannot listen on network HTTPS socket: listen tcp %s: bind: cannot assign requested address", value)
		case key == "core.https_address":
		case key == "core.trust_password" && value == "true":
			password = l.Password
		case key == "core.trust_password":
			password = value
		default:
			config[key] = value
		}
	}
	l.Config, l.Password = config, password
	return doneReply()
}

// textOf is a value of the configuration as LXD stores it.
func textOf(value any) string {
	return daemon.ConfigTexts(map[string]any{"": value})[""]
}

// readResources shows the machine's hardware: cores without threads on one socket, and all
// memory on one node.
func readResources(c *Call) rest.Reply {
	l, used := c.LXD, c.LXD.CurrentUse()
	cores := []api.ResourcesCPUCore{}
	for n := range l.Cores {
		cores = append(cores, api.ResourcesCPUCore{Core: uint64(n), Threads: []api.ResourcesCPUThread{{ID: int64(n), Online: true}}, Frequency: 2400})
	}
	var pages uint64 // held by running VMs only
	for _, project := range l.Projects {
		for _, i := range project {
			if i.Running {
				pages += uint64(i.HugePagesMiB()) << 20
			}
		}
	}
	total, held := uint64(l.MemoryMiB)<<20, uint64(min(used.MemoryMiB, l.MemoryMiB))<<20
	out := api.Resources{
		CPU: api.ResourcesCPU{Architecture: l.KernelArchitecture(), Total: uint64(l.Cores), Sockets: []api.ResourcesCPUSocket{{
			Name: "Intel(R) Xeon(R) Processor", Vendor: "GenuineIntel", Cores: cores, Frequency: 2400,
		}}},
		Memory: api.ResourcesMemory{Total: total, Used: held, HugepagesSize: 2 << 20, HugepagesTotal: uint64(l.HugePagesMiB) << 20, HugepagesUsed: pages, Nodes: []api.ResourcesMemoryNode{{Total: total, Used: held}}},
		GPU:    api.ResourcesGPU{Cards: []api.ResourcesGPUCard{}}, USB: api.ResourcesUSB{Devices: []api.ResourcesUSBDevice{}},
		PCI: api.ResourcesPCI{Devices: []api.ResourcesPCIDevice{}}, Storage: diskResources(l), Network: cardResources(l),
		System: api.ResourcesSystem{Vendor: "QEMU", Family: "Virtual Machine", Type: "virtual-machine"},
	}
	return syncReply(out)
}

func diskResources(l *world.LXD) api.ResourcesStorage {
	out := api.ResourcesStorage{Disks: []api.ResourcesStorageDisk{}}
	m := cmp.Or(l.Metal, l.HostMachine)
	if m == nil {
		return out
	}
	for n, d := range m.Storage.Disks {
		out.Disks = append(out.Disks, api.ResourcesStorageDisk{
			ID: d.Name, Device: "8:" + strconv.Itoa(16*n), Model: cmp.Or(d.Model, "QEMU HARDDISK"), Type: "scsi", Size: uint64(d.SizeBytes),
			BlockSize: 512, Serial: d.Serial, DeviceID: strings.TrimPrefix(d.IDPath, "/dev/disk/by-id/"), Mounted: n == 0,
			Partitions: []api.ResourcesStorageDiskPartition{},
		})
	}
	out.Total = uint64(len(out.Disks))
	return out
}

func cardResources(l *world.LXD) api.ResourcesNetwork {
	out := api.ResourcesNetwork{Cards: []api.ResourcesNetworkCard{}}
	for _, i := range l.HostInterfaces() {
		if i.Kind != "physical" {
			continue
		}
		out.Cards = append(out.Cards, api.ResourcesNetworkCard{Driver: "virtio_net", Ports: []api.ResourcesNetworkCardPort{{
			ID: i.Name, Address: i.MAC, Protocol: "ethernet", LinkDetected: true, LinkSpeed: 10000, LinkDuplex: "full", AutoNegotiation: true,
		}}})
	}
	out.Total = uint64(len(out.Cards))
	return out
}
