package maas

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

func TestMachineIsRead(t *testing.T) {
	t.Parallel()
	const deployed = `[{"system_id":"abc123","hostname":"web1","fqdn":"web1.maas","status":6,"status_name":"Deployed","status_message":null,
		"power_state":"on","locked":true,"owner":"admin","description":"d","zone":{"id":6,"name":"az1"},"pool":{"id":0,"name":"default"},
		"domain":{"id":0,"name":"maas"},"tag_names":["virtual","blue"],"pod":{"id":8,"name":"lxd1"},"cpu_count":2,"memory":2048,
		"storage":12000.0,"architecture":"amd64/generic","boot_interface":{"id":77,"name":"enp5s0"},
		"owner_data":{"role":"db"},"workload_annotations":{"role":"db"},"osystem":"ubuntu","distro_series":"jammy","hwe_kernel":"ga-22.04","ip_addresses":["10.77.0.51"],
		"physicalblockdevice_set":[
			{"id":21,"name":"sdb","size":3999999999,"tags":["ssd"],"storage_pool":null},
			{"id":20,"name":"sda","size":8000000000,"tags":["default","maaslxd-abc"],"storage_pool":"default"}],
		"boot_disk":{"id":20,"name":"sda","size":8000000000},
		"default_gateways":{"ipv4":{"gateway_ip":"10.77.0.1","link_id":4},"ipv6":{"gateway_ip":"fd00::1","link_id":null}},
		"interface_set":[
			{"id":80,"name":"eno1.5","mac_address":"00:16:3e:00:00:04","type":"vlan","parents":["br0"],"links":[],
				"vlan":{"id":7,"vid":5,"fabric":"fabric-0"},"params":{"mtu":9000}},
			{"id":79,"name":"br0","mac_address":"00:16:3e:00:00:03","type":"bridge","params":"","vlan":{"id":1,"dhcp_on":true},"parents":["enp5s0"],"links":[
				{"id":4,"mode":"auto","subnet":{"id":1,"name":"lan","cidr":"10.77.0.0/24","vlan":{"id":1,"dhcp_on":true}}}]},
			{"id":78,"name":"enp6s0","mac_address":"00:16:3E:AB:00:02","type":"physical","vlan":null,"parents":[],"links":[{"id":3,"mode":"link_up","subnet":null}]},
			{"id":77,"name":"enp5s0","mac_address":"00:16:3e:00:00:01","type":"physical","vlan":{"id":1,"dhcp_on":true},"links":[
				{"id":2,"mode":"static","ip_address":"10.77.0.51","subnet":{"id":1,"name":"lan","cidr":"10.77.0.0/24","vlan":{"dhcp_on":true}}}]}]}]`
	want := engine.Machine{
		SystemID: "abc123", Hostname: "web1", FQDN: "web1.maas", Status: engine.StatusDeployed, StatusName: "Deployed",
		PowerState: "on", Locked: true, Owner: "admin", Description: "d", Zone: "az1", Pool: "default", Domain: "maas",
		Tags: []string{"blue", "virtual"}, HostID: 8, HostName: "lxd1", Cores: 2, MemoryMiB: 2048,
		Disks: []engine.MachineDisk{
			{ID: 20, Name: "sda", SizeGB: 8, Bytes: 8000000000, Pool: "default", Tags: []string{"default", "maaslxd-abc"}},
			{ID: 21, Name: "sdb", SizeGB: 4, Bytes: 3999999999, Tags: []string{"ssd"}},
		},
		Interfaces: []engine.MachineInterface{
			{ID: 77, Name: "enp5s0", MAC: "00:16:3e:00:00:01", VLAN: 1, Links: []engine.InterfaceLink{{Mode: "static", Subnet: "10.77.0.0/24", IP: "10.77.0.51"}}},
			{ID: 78, Name: "enp6s0", MAC: "00:16:3e:ab:00:02", Links: []engine.InterfaceLink{{Mode: "link_up"}}},
		},
		Architecture: "amd64/generic", BootInterface: 77, BootDisk: 20, OwnerData: map[string]string{"role": "db"},
		Bridges: []engine.MachineBridge{
			{ID: 79, Name: "br0", Parents: []string{"enp5s0"}, VLAN: 1, Links: []engine.InterfaceLink{{Mode: "auto", Subnet: "10.77.0.0/24"}}},
		},
		Children: []engine.ChildInterface{
			{ID: 79, Kind: engine.ChildBridge, Name: "br0", Parents: []string{"enp5s0"}, VLAN: 1, Links: []engine.InterfaceLink{{Mode: "auto", Subnet: "10.77.0.0/24"}}},
			{ID: 80, Kind: engine.ChildVLAN, Name: "eno1.5", Parents: []string{"br0"}, VLAN: 7, VID: 5, Fabric: "fabric-0", MTU: 9000, Links: nil},
		},
		Gateways: []string{"10.77.0.1"},
		Image:    "ubuntu/jammy", Kernel: "ga-22.04", IPAddresses: []string{"10.77.0.51"},
	}
	got, err := testClient(t, newConstantFake(200, "application/json; charset=utf-8", deployed)).Machines.Machine(t.Context(), "abc123")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("machine (-want +got), %v:\n%s", err, diff)
	}
}

func TestBareMachineIsRead(t *testing.T) {
	t.Parallel()
	const bare = `[{"system_id":"abc123","hostname":"bare","status":0,"pod":null,"owner":null,"osystem":"","distro_series":"",
		"hwe_kernel":null,"boot_interface":null,"owner_data":null,"zone":{"id":1,"name":"default"},"pool":null,"tag_names":[],"ip_addresses":[],"interface_set":[],"physicalblockdevice_set":[]}]`
	got, err := testClient(t, newConstantFake(200, "application/json", bare)).Machines.Machine(t.Context(), "abc123")
	want := engine.Machine{SystemID: "abc123", Hostname: "bare", Zone: "default", IPAddresses: []string{}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("machine (-want +got), %v:\n%s", err, diff)
	}
}

func TestImageOfAMachine(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, osystem, series, want string }{
		"Ubuntu": {"As boot resources are named.", "ubuntu", "noble", "ubuntu/noble"},
		"Custom": {"Uploaded images have a system of their own.", "custom", "golden", "custom/golden"},
		"Whole":  {"Some versions give the whole name.", "ubuntu", "ubuntu/noble", "ubuntu/noble"},
		"None":   {"Nothing was deployed.", "", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (wireMachine{OSystem: tc.osystem, DistroSeries: tc.series}).image(); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestSubnetsAndImages(t *testing.T) {
	t.Parallel()
	c := testClient(t, newConstantFake(200, "application/json", `[{"id":1,"name":"lan","cidr":"10.77.0.0/24","vlan":{"id":5001,"dhcp_on":true}},{"id":2,"name":"dmz","cidr":"10.78.0.0/24","vlan":{"id":5002,"dhcp_on":false}}]`))
	subnets, err := c.Names.Subnets(t.Context())
	want := []engine.Subnet{{ID: 1, Name: "lan", CIDR: "10.77.0.0/24", VLAN: 5001, DHCP: true}, {ID: 2, Name: "dmz", CIDR: "10.78.0.0/24", VLAN: 5002}}
	if diff := cmp.Diff(want, subnets); diff != "" || err != nil {
		t.Errorf("subnets (-want +got), %v:\n%s", err, diff)
	}
	c = testClient(t, newConstantFake(200, "application/json", `[{"id":3,"name":"ubuntu/noble","architecture":"arm64/ga-24.04"},`+
		`{"id":1,"name":"ubuntu/jammy","architecture":"amd64/ga-22.04"},{"id":2,"name":"ubuntu/jammy","architecture":"amd64/hwe-22.04"},{"id":4,"name":"ubuntu/noble","architecture":"amd64/ga-24.04"}]`))
	images, err := c.Catalog.Images(t.Context())
	wantImages := []engine.Image{
		{Name: "ubuntu/jammy", Architectures: []string{"amd64"}, Kernels: []string{"ga-22.04", "hwe-22.04"}},
		{Name: "ubuntu/noble", Architectures: []string{"amd64", "arm64"}, Kernels: []string{"ga-24.04"}},
	}
	if diff := cmp.Diff(wantImages, images); diff != "" || err != nil {
		t.Errorf("images (-want +got), %v:\n%s", err, diff)
	}
}
