package v1beta1

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/maaslxd/maaslxd/engine/providerid"
)

// resolvedVMMachine is a machine's VM, of one disk, with what else the change says.
func resolvedVMMachine(change func(*ResolvedMachine)) ResolvedMachine {
	m := ResolvedMachine{
		Mode: ProvisioningModeLXD, ProviderIDForm: providerid.LXD, Image: "ubuntu/noble", Cores: 2, MemoryMiB: 2048,
		VM: &ResolvedVM{Disks: []ResolvedDisk{{SizeGB: DefaultVMDiskGB}}},
	}
	change(&m)
	return m
}

func TestResolveMachine(t *testing.T) {
	t.Parallel()
	const size = "image: ubuntu/noble\nminCPU: 2\nminMemory: 2048\n"
	vlan := int32(20)
	cases := map[string]struct {
		reason string
		spec   string
		want   ResolvedMachine
	}{
		"BareMetal": {
			"Nothing else said, it is bare metal, of any size.", "image: ubuntu/noble",
			ResolvedMachine{Mode: ProvisioningModeBareMetal, ProviderIDForm: providerid.BareMetal, Image: "ubuntu/noble"},
		},
		"BareMetalConstraints": {
			"Constraints are the least ones; all tags count.",
			size + "provisioningMode: bare-metal\nminDiskSize: 100\nresourcePool: blue\nfailureDomain: az1\ntags: [ssd, gpu]\ndeployInMemory: true\nstaticIP: 10.0.0.5",
			ResolvedMachine{
				Mode: ProvisioningModeBareMetal, ProviderIDForm: providerid.BareMetal, Image: "ubuntu/noble", Cores: 2, MemoryMiB: 2048, MinDiskGB: 100,
				ResourcePool: "blue", FailureDomain: "az1", Tags: []string{"ssd", "gpu"}, InMemory: true, StaticIP: netip.MustParseAddr("10.0.0.5"),
			},
		},
		"OlderBareMetal": {
			"Older templates describe VMs that they do not ask for.", size + "lxd: {enabled: false, vmConfig: {diskSize: 80}}",
			ResolvedMachine{Mode: ProvisioningModeBareMetal, ProviderIDForm: providerid.BareMetal, Image: "ubuntu/noble", Cores: 2, MemoryMiB: 2048},
		},
		"Mode":    {"The way that is documented.", size + "provisioningMode: lxd", resolvedVMMachine(func(*ResolvedMachine) {})},
		"Dynamic": {"The way of the first examples.", size + "dynamicLXD: true", resolvedVMMachine(func(*ResolvedMachine) {})},
		"Enabled": {
			"The older way keeps the form of its providerIDs.", size + "lxd: {enabled: true}",
			resolvedVMMachine(func(m *ResolvedMachine) { m.ProviderIDForm = providerid.LegacyLXD }),
		},
		"EnabledAndMode": {
			"An object that names the mode gets the providerIDs of that mode.", size + "provisioningMode: lxd\nlxd: {enabled: true}",
			resolvedVMMachine(func(*ResolvedMachine) {}),
		},
		"OlderConfig": {
			"The older words mean the same as the new ones.",
			size + "lxd: {enabled: true, vmConfig: {diskSize: 80, storagePool: fast, network: '10.0.0.0/24, storage', interfaceLinkModes: {eth1: link_up}, autoStart: true}}",
			resolvedVMMachine(func(m *ResolvedMachine) {
				m.ProviderIDForm = providerid.LegacyLXD
				m.VM.Disks = []ResolvedDisk{{80, "fast"}}
				m.VM.Interfaces = []ResolvedInterface{{Name: "eth0", Subnet: "10.0.0.0/24", Mode: LinkAuto}, {Name: "eth1", Subnet: "storage", Mode: LinkUp}}
			}),
		},
		"MinDisk": {"The root disk is at least so large.", size + "provisioningMode: lxd\nminDiskSize: 20", resolvedVMMachine(func(m *ResolvedMachine) { m.VM.Disks[0].SizeGB = 20 })},
		"LargerMinDisk": {
			"Of the two, the larger one counts.", size + "minDiskSize: 100\nprovisioningMode: lxd\nlxdConfig: {storage: {size: 80GB}}",
			resolvedVMMachine(func(m *ResolvedMachine) { m.VM.Disks[0].SizeGB = 100 }),
		},
		"Everything": {
			"All that can be said of a VM.",
			`
image: ubuntu/noble
minMemory: 2048
provisioningMode: lxd
failureDomain: az1
resourcePool: blue
tags: [ssd]
staticIP: {ip: 10.0.0.5, cidr: 10.0.0.0/24}
lxdConfig:
  vmHost: host1
  project: k8s
  profile: large
  pinnedCores: [4, 5]
  hugepages: true
  tags: [k8s]
  domain: cluster.example
  storage: {size: 60Gi, pool: fast, disks: [{size: "100"}, {size: 1TB, pool: slow}]}
  network:
    bridge: br0
    interfaces:
    - {name: eth0}
    - {name: eth1, subnet: storage, ip: 10.1.0.5}
    - {name: eth2, bridge: br1, vlan: 20, mode: link_up}
`,
			resolvedVMMachine(func(m *ResolvedMachine) {
				m.FailureDomain, m.ResourcePool, m.Tags = "az1", "blue", []string{"ssd"}
				m.StaticIP, m.StaticSubnet = netip.MustParseAddr("10.0.0.5"), netip.MustParsePrefix("10.0.0.0/24")
				m.VM = &ResolvedVM{
					Host: "host1", Project: "k8s", Profile: "large", PinnedCores: []int{4, 5}, HugePages: true, Tags: []string{"k8s"}, Domain: "cluster.example",
					Disks: []ResolvedDisk{{65, "fast"}, {100, ""}, {1000, "slow"}},
					Interfaces: []ResolvedInterface{
						{Name: "eth0", Bridge: "br0", Mode: LinkStatic, IP: netip.MustParseAddr("10.0.0.5")},
						{Name: "eth1", Subnet: "storage", Mode: LinkStatic, IP: netip.MustParseAddr("10.1.0.5")},
						{Name: "eth2", Bridge: "br1", VLAN: &vlan, Mode: LinkUp},
					},
				}
			}),
		},
		"Devices": {
			"The short form of interfaces.", size + "provisioningMode: lxd\nlxdConfig: {network: {bridge: br0, devices: [eth0, eth1]}}",
			resolvedVMMachine(func(m *ResolvedMachine) {
				m.VM.Interfaces = []ResolvedInterface{{Name: "eth0", Bridge: "br0", Mode: LinkAuto}, {Name: "eth1", Bridge: "br0", Mode: LinkDHCP}}
			}),
		},
		"Bridge": {
			"One NIC on it.", size + "provisioningMode: lxd\nlxdConfig: {network: {bridge: br0}}",
			resolvedVMMachine(func(m *ResolvedMachine) {
				m.VM.Interfaces = []ResolvedInterface{{Name: "eth0", Bridge: "br0", Mode: LinkAuto}}
			}),
		},
		"StaticIPAlone": {
			"A static address needs a NIC to be on.", size + "dynamicLXD: true\nstaticIP: 192.168.1.100",
			resolvedVMMachine(func(m *ResolvedMachine) {
				m.StaticIP = netip.MustParseAddr("192.168.1.100")
				m.VM.Interfaces = []ResolvedInterface{{Name: "eth0", Mode: LinkStatic, IP: m.StaticIP}}
			}),
		},
		"StaticIPLater": {
			"Somebody fills the address in.", size + "provisioningMode: lxd\nstaticIP: {cidr: 10.0.0.0/24}",
			resolvedVMMachine(func(m *ResolvedMachine) {
				m.WaitForStaticIP, m.StaticSubnet = true, netip.MustParsePrefix("10.0.0.0/24")
			}),
		},
		"Adopted": {
			"A machine that has its address is not refused for what older versions passed over.",
			size + "provisioningMode: bare-metal\nproviderID: maas:///az1/abc123\nstaticIP: {ip: 10.0.0.5, gateway: 10.0.0.1, nameservers: [10.0.0.2]}",
			ResolvedMachine{
				Mode: ProvisioningModeBareMetal, ProviderIDForm: providerid.BareMetal, Image: "ubuntu/noble", Cores: 2, MemoryMiB: 2048, StaticIP: netip.MustParseAddr("10.0.0.5"),
			},
		},
		"Parent": {"The older word for a VM's host.", size + "provisioningMode: lxd\nparent: abc123", resolvedVMMachine(func(m *ResolvedMachine) { m.VM.Host = "abc123" })},
		"SameTwice": {
			"Two words for the same are no contradiction.",
			size + "provisioningMode: lxd\ndynamicLXD: true\nparent: h1\nlxd: {enabled: true, vmConfig: {diskSize: 80, storagePool: p}}\nlxdConfig: {vmHost: h1, storage: {size: 80GB, pool: p}}",
			resolvedVMMachine(func(m *ResolvedMachine) { m.VM.Host, m.VM.Disks = "h1", []ResolvedDisk{{80, "p"}} }),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := parseMachineSpec(t, tc.spec)
			before := spec.DeepCopy()
			got, errs := spec.Resolve(field.NewPath("spec"))
			if len(errs) > 0 {
				t.Fatalf("%s\n%v", tc.reason, errs)
			}
			if diff := cmp.Diff(tc.want, got, compareAddresses...); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, &spec); diff != "" {
				t.Errorf("the spec was changed: -want +got:\n%s", diff)
			}
		})
	}
}

// compareAddresses compares addresses by their values.
var compareAddresses = []cmp.Option{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func TestResolveMachineRefuses(t *testing.T) {
	t.Parallel()
	const size = "image: ubuntu/noble\nminCPU: 2\nminMemory: 2048\n"
	const lxd = size + "provisioningMode: lxd\n"
	cases := map[string]struct {
		reason string
		spec   string
		want   []string // fields
	}{
		"ModeAgainstEnabled": {"Two modes.", size + "provisioningMode: bare-metal\nlxd: {enabled: true}", []string{"spec.lxd"}},
		"ModeAgainstDynamic": {"Two modes.", size + "provisioningMode: bare-metal\ndynamicLXD: true", []string{"spec.dynamicLXD"}},
		"DynamicNot":         {"Two modes.", lxd + "dynamicLXD: false", []string{"spec.dynamicLXD"}},
		"EnabledNot":         {"Two modes.", lxd + "lxd: {enabled: false}", []string{"spec.lxd"}},
		"UnknownMode":        {"No such mode.", size + "provisioningMode: virsh", []string{"spec.provisioningMode"}},
		"ConfigOfBareMetal":  {"Perhaps the mode was forgotten.", size + "lxdConfig: {project: k8s}", []string{"spec.lxdConfig"}},
		"ParentOfBareMetal":  {"Bare metal has no host.", size + "parent: h1", []string{"spec.parent"}},
		"NoImage":            {"Nothing to install.", "image: ' '", []string{"spec.image"}},
		"TwoHosts":           {"A VM has one.", lxd + "parent: h1\nlxdConfig: {vmHost: h2}", []string{"spec.parent"}},
		"NoCores":            {"A VM has as many as are asked for.", "image: i\nminMemory: 2048\nprovisioningMode: lxd", []string{"spec.minCPU"}},
		"LittleMemory":       {"MAAS refuses less.", "image: i\nminCPU: 1\nminMemory: 512\nprovisioningMode: lxd", []string{"spec.minMemory"}},
		"PinnedAgainstCores": {"A VM has one number of cores.", lxd + "lxdConfig: {pinnedCores: [1, 2, 3]}", []string{"spec.minCPU"}},
		"TwoSizes":           {"A disk has one.", lxd + "lxd: {vmConfig: {diskSize: 80}}\nlxdConfig: {storage: {size: 90GB}}", []string{"spec.lxd.vmConfig.diskSize"}},
		"TwoPools":           {"A disk is in one.", lxd + "lxd: {vmConfig: {storagePool: a}}\nlxdConfig: {storage: {pool: b}}", []string{"spec.lxd.vmConfig.storagePool"}},
		"BadSize":            {"No size.", lxd + "lxdConfig: {storage: {size: large}}", []string{"spec.lxdConfig.storage.size"}},
		"BadDisk":            {"No size.", lxd + "lxdConfig: {storage: {disks: [{size: '5'}, {size: '0'}]}}", []string{"spec.lxdConfig.storage.disks[1].size"}},
		"DevicesBesides":     {"Two lists of NICs.", lxd + "lxdConfig: {network: {bridge: br0, devices: [eth0], interfaces: [{name: eth0}]}}", []string{"spec.lxdConfig.network.devices"}},
		"SubnetsBesides":     {"Two lists of NICs.", lxd + "lxd: {vmConfig: {network: a}}\nlxdConfig: {network: {interfaces: [{name: eth0}]}}", []string{"spec.lxd.vmConfig.network"}},
		"DevicesOfNothing":   {"They join nothing.", lxd + "lxdConfig: {network: {devices: [eth0]}}", []string{"spec.lxdConfig.network.bridge"}},
		"SameDevice":         {"Two NICs of one name.", lxd + "lxdConfig: {network: {bridge: br0, devices: [eth0, eth0]}}", []string{"spec.lxdConfig.network.devices[1]"}},
		"BadDevice":          {"No name of a NIC.", lxd + "lxdConfig: {network: {bridge: br0, devices: [Eth_0]}}", []string{"spec.lxdConfig.network.devices[0]"}},
		"BadNICAddress":      {"No address.", lxd + "lxdConfig: {network: {interfaces: [{name: eth0, ip: 10.0.0.5/24}]}}", []string{"spec.lxdConfig.network.interfaces[0].ip"}},
		"DHCPWithAddress":    {"Either of the two.", lxd + "lxdConfig: {network: {interfaces: [{name: eth0, mode: dhcp, ip: 10.0.0.5}]}}", []string{"spec.lxdConfig.network.interfaces[0].mode"}},
		"StaticNothing":      {"Static, but what?", lxd + "lxdConfig: {network: {interfaces: [{name: eth0}, {name: eth1, mode: static}]}}", []string{"spec.lxdConfig.network"}},
		"TwoAddresses":       {"The first NIC has one.", lxd + "staticIP: 10.0.0.6\nlxdConfig: {network: {interfaces: [{name: eth0, ip: 10.0.0.5}]}}", []string{"spec.staticIP"}},
		"StaticOnDHCP":       {"Either of the two.", lxd + "staticIP: 10.0.0.6\nlxdConfig: {network: {interfaces: [{name: eth0, mode: dhcp}]}}", []string{"spec.staticIP"}},
		"ModeOfNoNIC":        {"There is no eth3.", lxd + "lxd: {vmConfig: {network: a, interfaceLinkModes: {eth3: dhcp}}}", []string{"spec.lxd.vmConfig.interfaceLinkModes[eth3]"}},
		"TwoLinkModes":       {"A NIC has one.", lxd + "lxd: {vmConfig: {interfaceLinkModes: {eth0: dhcp}}}\nlxdConfig: {network: {interfaces: [{name: eth0, mode: link_up}]}}", []string{"spec.lxd.vmConfig.interfaceLinkModes[eth0]"}},
		"Several":            {"All that is wrong is said at once.", "image: ''\nprovisioningMode: lxd", []string{"spec.image", "spec.minCPU", "spec.minMemory"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := parseMachineSpec(t, tc.spec)
			_, errs := spec.Resolve(field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, errorFields(errs)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s\n%v", tc.reason, diff, errs)
			}
			for _, err := range errs {
				if len(err.Detail) < 15 && err.Type != field.ErrorTypeDuplicate && err.Type != field.ErrorTypeNotSupported {
					t.Errorf("%s is refused without a way out: %q", err.Field, err.Detail)
				}
			}
		})
	}
}

// parseMachineSpec reads YAML as an API server hands it out.
func parseMachineSpec(t *testing.T, text string) MaasMachineSpec {
	t.Helper()
	var spec MaasMachineSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestResolveHosts(t *testing.T) {
	t.Parallel()
	defaults := ResolvedHosts{StorageBackend: "zfs", StorageGB: 50, NICType: NICTypeBridge, Parent: "br0"}
	with := func(change func(*ResolvedHosts)) *ResolvedHosts {
		h := defaults
		change(&h)
		return &h
	}
	cases := map[string]struct {
		reason string
		spec   string
		want   *ResolvedHosts
		wrong  []string
	}{
		"None":        {"Most clusters have no hosts.", `{}`, nil, nil},
		"ConfigAlone": {"To describe hosts is not to ask for them.", `{"lxdConfig":{"storageSize":"50"}}`, nil, nil},
		"Alias":       {"The way of the first examples.", `{"lxdControlPlaneCluster":true}`, &defaults, nil},
		"Enabled":     {"The older way.", `{"lxdConfig":{"enabled":true}}`, &defaults, nil},
		"Off":         {"Both say no.", `{"lxdControlPlaneCluster":false,"lxdConfig":{"enabled":false}}`, nil, nil},
		"All": {
			"Every field counts.",
			`{"lxdControlPlaneCluster":true,"lxdConfig":{"zone":"az1","resourcePool":"vm-generic","storageBackend":"btrfs","storageSize":"1TB","networkBridge":"br7","skipNetworkUpdate":true}}`,
			with(func(h *ResolvedHosts) {
				h.Zone, h.ResourcePool, h.StorageBackend, h.StorageGB, h.Parent = "az1", "vm-generic", "btrfs", 1000, "br7"
			}), nil,
		},
		"Parent":  {"The same bridge by its other field.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"nicType":"bridge","nicParent":"br9"}}`, with(func(h *ResolvedHosts) { h.Parent = "br9" }), nil},
		"Macvlan": {"No bridge is made.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"nicType":"macvlan","nicParent":"eno1"}}`, with(func(h *ResolvedHosts) { h.NICType, h.Parent = NICTypeMacvlan, "eno1" }), nil},
		"Dir":     {"It takes what there is.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"storageBackend":"dir","storageSize":"50"}}`, with(func(h *ResolvedHosts) { h.StorageBackend, h.StorageGB = "dir", 0 }), nil},
		"IncumbentStored": {
			"CAPMaaS's CRD stored both, and CAPMaaS made the pool of 80 % of the disk, and the bridge.",
			`{"lxdConfig":{"enabled":true,"storageSize":"50","skipNetworkUpdate":true}}`,
			with(func(h *ResolvedHosts) { h.StorageGB, h.StoragePercent = 0, 80 }), nil,
		},
		"Fifty":            {"Without the other stored field somebody chose it.", `{"lxdConfig":{"enabled":true,"storageSize":"50"}}`, &defaults, nil},
		"Contradiction":    {"Yes and no.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"enabled":false}}`, nil, []string{"spec.lxdControlPlaneCluster"}},
		"TwoBridges":       {"VMs join one.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"networkBridge":"br0","nicParent":"br1"}}`, nil, []string{"spec.lxdConfig.nicParent"}},
		"BridgeForMacvlan": {"It has none.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"nicType":"macvlan","nicParent":"eno1","networkBridge":"br1"}}`, nil, []string{"spec.lxdConfig.networkBridge"}},
		"BesideNothing":    {"Nobody knows the NIC's name before there is a machine.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"nicType":"macvlan"}}`, nil, []string{"spec.lxdConfig.nicParent"}},
		"BadSize":          {"No size.", `{"lxdControlPlaneCluster":true,"lxdConfig":{"storageSize":"big"}}`, nil, []string{"spec.lxdConfig.storageSize"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var spec MaasClusterSpec
			if err := json.Unmarshal([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			got, errs := spec.ResolveHosts(field.NewPath("spec"))
			if diff := cmp.Diff(tc.wrong, errorFields(errs)); diff != "" {
				t.Fatalf("%s\n-want +got:\n%s\n%v", tc.reason, diff, errs)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && len(errs) == 0 {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
