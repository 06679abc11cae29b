// Package provider makes on the simulator the calls of the resources of the Terraform
// provider canonical/maas. Each resource is created, planned twice, changed, planned and
// destroyed. Nothing must be left.
package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
	"github.com/juju/gomaasapi/v2"

	"github.com/maaslxd/maaslxd/acctest/maassim/clients/target"
)

// resource is a resource of the provider. Each function makes the provider's calls, and
// read returns what a plan compares.
type resource struct {
	create  func() error
	read    func() (any, error)
	update  func() error
	destroy func() error
}

// runLifecycle creates and destroys a resource. Afterwards the region must be as before.
func runLifecycle(t *testing.T, make func(*client.Client) resource) {
	t.Helper()
	url, key := target.ResetSimulator(t)
	c, err := client.GetClient(url, key, "2.0")
	if err != nil {
		t.Fatal(err)
	}
	before := readRegion(t, c)
	r := make(c)
	runStep(t, "create", r.create)
	first := readPlan(t, r)
	runStep(t, "update", r.update)
	if second := readPlan(t, r); reflect.DeepEqual(first, second) {
		t.Errorf("the update changed nothing of %v", first)
	}
	runStep(t, "destroy", r.destroy)
	if after := readRegion(t, c); !reflect.DeepEqual(before, after) {
		t.Errorf("the region is not as it was:\n%v\n%v", before, after)
	}
}

func runStep(t *testing.T, name string, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// readPlan reads a resource twice and checks that both results are equal.
func readPlan(t *testing.T, r resource) any {
	t.Helper()
	var seen [2]any
	for i := range seen {
		var err error
		if seen[i], err = r.read(); err != nil {
			t.Fatalf("plan: %v", err)
		}
	}
	if !reflect.DeepEqual(seen[0], seen[1]) {
		t.Errorf("two plans differ:\n%v\n%v", seen[0], seen[1])
	}
	return seen[0]
}

// readRegion lists the objects of each kind by name.
func readRegion(t *testing.T, c *client.Client) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	add := func(kind string, err error, names []string) {
		if err != nil {
			t.Fatal(err)
		}
		all[kind] = names
	}
	machines, err := c.Machines.Get(&entity.MachinesParams{})
	add("machines", err, names(machines, func(m entity.Machine) string { return m.Hostname + " " + m.StatusName }))
	hosts, err := c.VMHosts.Get()
	add("VM hosts", err, names(hosts, func(h entity.VMHost) string { return h.Name }))
	tags, err := c.Tags.Get()
	add("tags", err, names(tags, func(t entity.Tag) string { return t.Name }))
	pools, err := c.ResourcePools.Get()
	add("pools", err, names(pools, func(p entity.ResourcePool) string { return p.Name }))
	domains, err := c.Domains.Get()
	add("domains", err, names(domains, func(d entity.Domain) string { return d.Name }))
	records, err := c.DNSResources.Get(&entity.DNSResourcesParams{})
	add("DNS resources", err, names(records, func(d entity.DNSResource) string { return d.FQDN }))
	addresses, err := c.IPAddresses.Get(&entity.IPAddressesParams{})
	add("addresses", err, names(addresses, func(a entity.IPAddress) string { return a.IP.String() }))
	subnets, err := c.Subnets.Get()
	add("subnets", err, names(subnets, func(s entity.Subnet) string { return s.CIDR }))
	ranges, err := c.IPRanges.Get()
	add("ranges", err, names(ranges, func(r entity.IPRange) string { return r.StartIP.String() }))
	users, err := c.Users.Get()
	add("users", err, names(users, func(u entity.User) string { return u.UserName }))
	var instances []struct{ Name string }
	target.CallSteering(t, http.MethodGet, "instances", &instances)
	add("instances", nil, names(instances, func(i struct{ Name string }) string { return i.Name }))
	return all
}

func names[T any](things []T, name func(T) string) []string {
	all := []string{}
	for _, thing := range things {
		all = append(all, name(thing))
	}
	return all
}

// waitForStatus polls a machine until it has left a status.
func waitForStatus(c *client.Client, id, pending, want string) error {
	for range 100 {
		m, err := c.Machine.Get(id)
		switch {
		case err != nil:
			return err
		case m.StatusName == want:
			return nil
		case m.StatusName != pending && m.StatusName != "Testing":
			return fmt.Errorf("machine %s is %s, want %s", id, m.StatusName, want)
		}
	}
	return fmt.Errorf("machine %s never became %s", id, want)
}

// releaseMachine releases a machine, as destroying an instance or a VM host does.
func releaseMachine(c *client.Client, id string) error {
	if err := c.Machines.Release([]string{id}, "Released by Terraform"); err != nil {
		return err
	}
	return waitForStatus(c, id, "Releasing", "Ready")
}

// machineNamed is the machine with a name. Like the provider, it lists all machines.
func machineNamed(c *client.Client, name string) (*entity.Machine, error) {
	machines, err := c.Machines.Get(&entity.MachinesParams{})
	if err != nil {
		return nil, err
	}
	for _, m := range machines {
		if m.Hostname == name {
			return &m, nil
		}
	}
	return nil, fmt.Errorf("machine %s not found", name)
}

// isNotFound tells whether a read answered 404.
func isNotFound(err error) bool {
	answer, ok := gomaasapi.GetServerError(err)
	return ok && answer.StatusCode == http.StatusNotFound
}

// TestVM tests maas_vm_host_machine with a maas_instance on it.
func TestVM(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var id string
		return resource{
			create: func() error {
				hosts, err := c.VMHosts.Get()
				if err != nil {
					return err
				}
				vm, err := c.VMHost.Compose(hosts[0].ID, &entity.VMHostMachineParams{Hostname: "vm1", Cores: 1, Memory: 1024, Storage: "disk0:8"})
				if err != nil {
					return err
				}
				id = vm.SystemID
				if err := waitForStatus(c, id, "Commissioning", "Ready"); err != nil {
					return err
				}
				if _, err := c.Machine.Update(id, &entity.MachineUpdateParams{Hostname: "vm1", Pool: "default"}, nil); err != nil {
					return err
				}
				if _, err := c.Machines.Allocate(&entity.MachineAllocateParams{SystemID: id}); err != nil {
					return err
				}
				if _, err := c.Machine.Deploy(id, &entity.MachineDeployParams{DistroSeries: "ubuntu/noble"}); err != nil {
					return err
				}
				return waitForStatus(c, id, "Deploying", "Deployed")
			},
			read: func() (any, error) {
				m, err := c.Machine.Get(id)
				if err != nil {
					return nil, err
				}
				return []any{m.FQDN, m.Zone.Name, m.Pool.Name, m.TagNames, m.CPUCount, m.Memory, len(m.IPAddresses)}, nil
			},
			update: func() error {
				_, err := c.Machine.Update(id, &entity.MachineUpdateParams{Hostname: "vm1", Pool: "blue"}, nil)
				return err
			},
			destroy: func() error {
				if err := releaseMachine(c, id); err != nil {
					return err
				}
				if err := c.Machine.Delete(id); err != nil {
					return err
				}
				target.CallSteering(t, http.MethodPost, "settle", nil)
				return nil
			},
		}
	})
}

// vmHostCalls reads and changes a maas_vm_host.
func vmHostCalls(c *client.Client, id *int, params entity.VMHostParams) (read func() (any, error), update func() error) {
	read = func() (any, error) {
		h, err := c.VMHost.Get(*id)
		if err != nil {
			return nil, err
		}
		return []any{h.Name, h.Zone.Name, h.Pool.Name, h.Tags, h.CPUOverCommitRatio, h.MemoryOverCommitRatio, h.DefaultMACVLANMode}, nil
	}
	update = func() error {
		params.Pool, params.CPUOverCommitRatio = "blue", 2
		_, err := c.VMHost.Update(*id, &params)
		return err
	}
	return read, update
}

// TestVMHostOnMachine tests a maas_vm_host with the argument machine, which MAAS deploys.
func TestVMHostOnMachine(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var id int
		read, update := vmHostCalls(c, &id, entity.VMHostParams{Type: "lxd"})
		return resource{
			create: func() (err error) { id, err = deployVMHost(c, "metal1"); return err },
			read:   read, update: update,
			destroy: func() error {
				h, err := c.VMHost.Get(id)
				if err != nil {
					return err
				}
				if err := c.VMHost.Delete(id); err != nil {
					return err
				}
				if _, err := c.Machine.Get(h.Host.SystemID); isNotFound(err) {
					return fmt.Errorf("the machine went with its VM host")
				}
				return releaseMachine(c, h.Host.SystemID)
			},
		}
	})
}

// deployVMHost deploys a machine as a VM host, and finds the VM host that MAAS registered.
func deployVMHost(c *client.Client, name string) (int, error) {
	m, err := machineNamed(c, name)
	if err != nil {
		return 0, err
	}
	if _, err := c.Machines.Allocate(&entity.MachineAllocateParams{SystemID: m.SystemID}); err != nil {
		return 0, err
	}
	image := [2]string{}
	for i, setting := range []string{"default_osystem", "default_distro_series"} {
		text, err := c.MAASServer.Get(setting)
		if err != nil {
			return 0, err
		}
		if err := json.Unmarshal(text, &image[i]); err != nil {
			return 0, err
		}
	}
	if _, err := c.Machine.Deploy(m.SystemID, &entity.MachineDeployParams{DistroSeries: image[0] + "/" + image[1], RegisterVMHost: true}); err != nil {
		return 0, err
	}
	if err := waitForStatus(c, m.SystemID, "Deploying", "Deployed"); err != nil {
		return 0, err
	}
	hosts, err := c.VMHosts.Get()
	if err != nil {
		return 0, err
	}
	for _, h := range hosts {
		if h.Host.SystemID == m.SystemID {
			return h.ID, nil
		}
	}
	return 0, fmt.Errorf("no VM host was registered on %s", name)
}

// TestVMHostByAddress tests a maas_vm_host with the argument power_address.
func TestVMHostByAddress(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var id int
		params := entity.VMHostParams{Type: "lxd", Name: "third", PowerAddress: "10.200.9.9:8443", Password: "swordfish"}
		read, update := vmHostCalls(c, &id, params)
		return resource{
			create: func() error {
				h, err := c.VMHosts.Create(&params)
				if err != nil {
					return err
				}
				id = h.ID
				_, err = c.VMHost.Update(id, &params)
				return err
			},
			read: read, update: update,
			destroy: func() error { return c.VMHost.Delete(id) },
		}
	})
}

// TestMachine tests a maas_machine, which is enlisted and commissioned at once.
func TestMachine(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var id string
		commission := true
		return resource{
			create: func() error {
				m, err := c.Machines.Create(&entity.MachineCreateParams{
					Commission: &commission, PowerType: "manual", MACAddresses: []string{"52:54:00:00:00:01"}, Architecture: "amd64/generic", Hostname: "new1",
				}, nil)
				if err != nil {
					return err
				}
				id = m.SystemID
				return waitForStatus(c, id, "Commissioning", "Ready")
			},
			read: func() (any, error) {
				m, err := c.Machine.Get(id)
				if err != nil {
					return nil, err
				}
				return []any{m.Architecture, m.MinHWEKernel, m.Hostname, m.Domain.Name, m.Zone.Name, m.Pool.Name, m.InterfaceSet[0].MACAddress}, nil
			},
			update: func() error {
				_, err := c.Machine.Update(id, &entity.MachineUpdateParams{Hostname: "new2", Zone: "az1", Pool: "blue", Domain: "example", PowerType: "manual"}, nil)
				return err
			},
			destroy: func() error { return c.Machine.Delete(id) },
		}
	})
}

// TestSubnet tests a maas_subnet with a range, which an update replaces.
func TestSubnet(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var id int
		params := entity.SubnetParams{CIDR: "10.79.0.0/24", Name: "third", GatewayIP: "10.79.0.1", Managed: true, AllowDNS: true, AllowProxy: true, RDNSMode: 2}
		ranged := func(from, to string) error {
			old, err := c.IPRanges.Get()
			if err != nil {
				return err
			}
			for _, r := range old {
				if r.Subnet.ID == id {
					if err := c.IPRange.Delete(r.ID); err != nil {
						return err
					}
				}
			}
			_, err = c.IPRanges.Create(&entity.IPRangeParams{Subnet: strconv.Itoa(id), Type: "reserved", StartIP: from, EndIP: to})
			return err
		}
		return resource{
			create: func() error {
				s, err := c.Subnets.Create(&params)
				if err != nil {
					return err
				}
				id = s.ID
				return ranged("10.79.0.10", "10.79.0.19")
			},
			read: func() (any, error) {
				s, err := c.Subnet.Get(id)
				if err != nil {
					return nil, err
				}
				return []any{s.Name, s.CIDR, s.GatewayIP.String(), s.RDNSMode, s.AllowDNS, s.AllowProxy}, nil
			},
			update: func() error {
				params.Name = "fourth"
				if _, err := c.Subnet.Update(id, &params); err != nil {
					return err
				}
				return ranged("10.79.0.20", "10.79.0.29")
			},
			destroy: func() error { return c.Subnet.Delete(id) },
		}
	})
}

// TestDNS tests a maas_dns_domain with a maas_dns_record.
func TestDNS(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var domain, record int
		params := entity.DNSResourceParams{Name: "www", Domain: "lab", IPAddresses: "10.77.0.50", AddressTTL: 30}
		return resource{
			create: func() error {
				d, err := c.Domains.Create(&entity.DomainParams{Name: "lab", TTL: 60, Authoritative: true})
				if err != nil {
					return err
				}
				domain = d.ID
				r, err := c.DNSResources.Create(&params)
				if err == nil {
					record = r.ID
				}
				return err
			},
			read: func() (any, error) {
				d, err := c.Domain.Get(domain)
				if err != nil {
					return nil, err
				}
				r, err := c.DNSResource.Get(record)
				if err != nil {
					return nil, err
				}
				return []any{d.Name, d.TTL, r.FQDN, r.AddressTTL, r.IPAddresses[0].IP.String()}, nil
			},
			update: func() error {
				if _, err := c.Domain.Update(domain, &entity.DomainParams{Name: "lab", TTL: 90, Authoritative: true}); err != nil {
					return err
				}
				params.AddressTTL = 45
				_, err := c.DNSResource.Update(record, &params)
				return err
			},
			destroy: func() error {
				r, err := c.DNSResource.Get(record)
				if err != nil {
					return err
				}
				if err := c.DNSResource.Delete(record); err != nil {
					return err
				}
				for _, a := range r.IPAddresses {
					if err := c.IPAddresses.Release(&entity.IPAddressesParams{IP: a.IP.String()}); err != nil {
						return err
					}
				}
				return c.Domain.Delete(domain)
			},
		}
	})
}

// TestTag tests a maas_tag with machines, and a maas_resource_pool.
func TestTag(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var pool int
		return resource{
			create: func() error {
				p, err := c.ResourcePools.Create(&entity.ResourcePoolParams{Name: "red"})
				if err != nil {
					return err
				}
				pool = p.ID
				if _, err := c.Tags.Create(&entity.TagParams{Name: "slow"}); err != nil {
					return err
				}
				m, err := machineNamed(c, "metal1")
				if err != nil {
					return err
				}
				return c.Tag.AddMachines("slow", []string{m.SystemID})
			},
			read: func() (any, error) {
				machines, err := c.Tag.GetMachines("slow")
				if err != nil {
					return nil, err
				}
				p, err := c.ResourcePool.Get(pool)
				if err != nil {
					return nil, err
				}
				return []any{p.Description, names(machines, func(m entity.Machine) string { return m.Hostname })}, nil
			},
			update: func() error {
				if _, err := c.ResourcePool.Update(pool, &entity.ResourcePoolParams{Name: "red", Description: "warm"}); err != nil {
					return err
				}
				one, err := machineNamed(c, "metal1")
				if err != nil {
					return err
				}
				two, err := machineNamed(c, "metal2")
				if err != nil {
					return err
				}
				if err := c.Tag.RemoveMachines("slow", []string{one.SystemID}); err != nil {
					return err
				}
				return c.Tag.AddMachines("slow", []string{two.SystemID})
			},
			destroy: func() error {
				if err := c.Tag.Delete("slow"); err != nil {
					return err
				}
				return c.ResourcePool.Delete(pool)
			},
		}
	})
}

// TestFabric tests a maas_fabric with a maas_vlan in a maas_space.
func TestFabric(t *testing.T) {
	runLifecycle(t, func(c *client.Client) resource {
		var fabric, space, vid int
		return resource{
			create: func() error {
				s, err := c.Spaces.Create("space9")
				if err != nil {
					return err
				}
				f, err := c.Fabrics.Create(&entity.FabricParams{Name: "fabric9"})
				if err != nil {
					return err
				}
				fabric, space, vid = f.ID, s.ID, 9
				_, err = c.VLANs.Create(fabric, &entity.VLANParams{VID: vid, Name: "nine", MTU: 1500, Space: "space9"})
				return err
			},
			read: func() (any, error) {
				f, err := c.Fabric.Get(fabric)
				if err != nil {
					return nil, err
				}
				v, err := c.VLAN.Get(fabric, vid)
				if err != nil {
					return nil, err
				}
				s, err := c.Space.Get(space)
				if err != nil {
					return nil, err
				}
				return []any{f.Name, v.Name, v.MTU, v.DHCPOn, v.Space, s.Name}, nil
			},
			update: func() error {
				if _, err := c.Fabric.Update(fabric, &entity.FabricParams{Name: "fabric8"}); err != nil {
					return err
				}
				if _, err := c.Space.Update(space, "space8"); err != nil {
					return err
				}
				_, err := c.VLAN.Update(fabric, vid, &entity.VLANParams{VID: vid, Name: "eight", MTU: 9000, Space: "space8"})
				return err
			},
			destroy: func() error {
				if err := c.VLAN.Delete(fabric, vid); err != nil {
					return err
				}
				if err := c.Fabric.Delete(fabric); err != nil {
					return err
				}
				return c.Space.Delete(space)
			},
		}
	})
}
