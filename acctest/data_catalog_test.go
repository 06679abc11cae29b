package acctest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccDataCatalog reads MAAS's other lists, and finds in them what a VM is
// made of.
func TestAccDataCatalog(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	output := func(name, value string) string {
		return fmt.Sprintf("output %q {\n  value = %s\n}\n", name, value)
	}
	config := x.config(x.vm(name, `tags = ["tf-acc-a"]`, `zone = "az2"`, `pool = "kvm"`, x.deploy()) + `
data "maaslxd_region" "it" {}
data "maaslxd_images" "all" {}
data "maaslxd_images" "none" { architecture = "vax" }
data "maaslxd_zones" "all" {}
data "maaslxd_pools" "all" {}
data "maaslxd_domains" "all" {}
data "maaslxd_subnets" "dhcp" { filter = { dhcp = true } }
data "maaslxd_machines" "vm" {
  filter     = { status = "deployed", zone = "az2", pool = "kvm", tags = ["tf-acc-a"], architecture = "amd64", min_cores = 1, min_memory_mib = 1024, virtual = true }
  depends_on = [maaslxd_vm.test]
}
data "maaslxd_machines" "metal" {
  filter     = { tags = ["tf-acc-a"], virtual = false }
  depends_on = [maaslxd_vm.test]
}
` + output("image", fmt.Sprintf("contains(data.maaslxd_images.all.names, %q)", x.image)) +
		output("zone", `contains(data.maaslxd_zones.all.names, maaslxd_vm.test.zone)`) +
		output("pool", `contains(data.maaslxd_pools.all.names, maaslxd_vm.test.pool)`) +
		output("domain", `contains(data.maaslxd_domains.all.names, maaslxd_vm.test.domain)`) +
		output("subnet", `length(data.maaslxd_subnets.dhcp.subnets) > 0 && alltrue([for s in data.maaslxd_subnets.dhcp.subnets : s.cidr != "" && s.fabric != null && s.dhcp])`))
	const region, vm = "data.maaslxd_region.it", "data.maaslxd_machines.vm"
	checks := []statecheck.StateCheck{
		expectDataValue(region, "version", knownvalue.NotNull()), expectDataValue(region, "administrator", knownvalue.Bool(true)), expectDataValue(region, "username", knownvalue.NotNull()),
		expectDataValue("data.maaslxd_images.none", "images", knownvalue.ListSizeExact(0)), expectDataValue("data.maaslxd_images.none", "default", knownvalue.Null()),
		expectDataValue(vm, "machines", knownvalue.ListSizeExact(1)), expectDataValue(vm, "machines.0.hostname", exactText(name)), expectDataValue(vm, "machines.0.status", exactText("Deployed")),
		expectDataValue(vm, "machines.0.power_state", exactText("on")), expectDataValue(vm, "machines.0.virtual", knownvalue.Bool(true)), expectDataValue(vm, "machines.0.zone", exactText("az2")),
		expectDataValue("data.maaslxd_machines.metal", "machines", knownvalue.ListSizeExact(0)),
	}
	composer := "maas"
	if isLXDColumn() {
		composer = "lxd"
	}
	checks = append(checks, expectDataValue(region, "composer", exactText(composer)))
	for _, name := range []string{"image", "zone", "pool", "domain", "subnet"} {
		checks = append(checks, statecheck.ExpectKnownOutputValue(name, knownvalue.Bool(true)))
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps:                    []resource.TestStep{{Config: config, ConfigStateChecks: checks}},
	})
}

// TestAccDataCapacity reads what fits, before a VM is made and after.
func TestAccDataCapacity(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, func(m *sim.Model) { m.Hosts[0].CPUOvercommit = 2 })
	name := x.name()
	sources := func(depends string) string {
		return fmt.Sprintf(`
data "maaslxd_capacity" "small" {
  cores      = 4
  memory_mib = 2048
  disks      = [{ size_gb = 10, pool = "fast" }]
  %[1]s
}
data "maaslxd_capacity" "large" {
  cores      = 500
  memory_mib = 2048
  %[1]s
}
`, depends)
	}
	const small, large = "data.maaslxd_capacity.small", "data.maaslxd_capacity.large"
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{
				Config: x.config(sources("")),
				ConfigStateChecks: []statecheck.StateCheck{
					expectDataValue(small, "vm_hosts.0.name", exactText("lxd1")), expectDataValue(small, "vm_hosts.0.vms", exactNumber(4)), expectDataValue(small, "vm_hosts.0.reason", knownvalue.Null()),
					expectDataValue(small, "vm_hosts.0.free_cores", exactNumber(16)), expectDataValue(large, "vms", exactNumber(0)),
					expectDataValue(large, "vm_hosts.0.reason", knownvalue.StringRegexp(wordsPattern("cores"))),
				},
			},
			{
				Config:            x.config(x.vm(name, `cores = 5`) + sources("depends_on = [maaslxd_vm.test]")),
				ConfigStateChecks: []statecheck.StateCheck{expectDataValue(small, "vm_hosts.0.vms", exactNumber(2)), expectDataValue(small, "vm_hosts.0.free_cores", exactNumber(11))},
			},
		},
	})
}

// TestAccDataCapacityFilters counts only hosts of a zone, of a resource pool,
// with a tag, of an architecture, or with huge pages. MAAS reports no huge
// pages, so its hosts count there.
func TestAccDataCapacityFilters(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, func(m *sim.Model) {
		m.Hosts[0].Zone, m.Hosts[0].Pool, m.Hosts[0].Tags = "az1", "kvm", []string{"rack1"}
	})
	size := "  cores = 1\n  memory_mib = 1024\n"
	sources := `data "maaslxd_capacity" "all" {` + "\n" + size + `  architecture = "amd64/generic"
}
data "maaslxd_capacity" "chosen" {` + "\n" + size + `  zone = "az1"
  pool = "kvm"
  tags = ["rack1"]
}
data "maaslxd_capacity" "elsewhere" {` + "\n" + size + `  zone = "az2"
  pool = "kvm"
}
data "maaslxd_capacity" "foreign" {` + "\n" + size + `  architecture = "arm64/generic"
}
data "maaslxd_capacity" "huge" {` + "\n" + size + `  hugepages = true
}
output "filtered" { value = data.maaslxd_capacity.chosen.vms > 0 && data.maaslxd_capacity.chosen.vms < data.maaslxd_capacity.all.vms }
output "huge" { value = data.maaslxd_capacity.huge.vms <= data.maaslxd_capacity.all.vms }
`
	checks := []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("filtered", knownvalue.Bool(true)), statecheck.ExpectKnownOutputValue("huge", knownvalue.Bool(true))}
	for _, name := range []string{"elsewhere", "foreign"} {
		checks = append(checks, expectDataValue("data.maaslxd_capacity."+name, "vms", exactNumber(0)))
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		Steps:                    []resource.TestStep{{Config: x.config(sources), ConfigStateChecks: checks}},
	})
}

// TestAccDataSubnetFilters lists subnets by space, by fabric and by VLAN.
func TestAccDataSubnetFilters(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	x.makeTaggedSubnet(t)
	fabric := x.addIPv6Subnet(t, "lan", "dmz", "lan6", "fd00:77::/64")
	sources := fmt.Sprintf(`data "maaslxd_subnets" "space" { filter = { space = "dmz" } }
data "maaslxd_subnets" "tagged" { filter = { vid = 100, fabric = %q } }
data "maaslxd_subnets" "none" { filter = { vid = 100, space = "dmz" } }
output "space" { value = join(" ", data.maaslxd_subnets.space.subnets[*].name) }
output "tagged" { value = join(" ", data.maaslxd_subnets.tagged.subnets[*].name) }
`, fabric)
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		Steps: []resource.TestStep{{Config: x.config(sources), ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownOutputValue("space", exactText("lan lan6")), statecheck.ExpectKnownOutputValue("tagged", exactText("tagged")),
			expectDataValue("data.maaslxd_subnets.none", "subnets", knownvalue.ListSizeExact(0)),
		}}},
	})
}

// TestAccDataCatalogBadInput wants one clear error for each case.
func TestAccDataCatalogBadInput(t *testing.T) {
	t.Parallel()
	machines := func(filter string) string { return `data "maaslxd_machines" "x" { filter = { ` + filter + ` } }` }
	cases := map[string]struct{ reason, config, want string }{
		"Status":      {"Without an error, a misspelled status would list no machine.", machines(`status = "Redy"`), `filter.status value must be one of Ready Redy`},
		"Zone":        {"An unknown zone is an error and not an empty list.", machines(`zone = "nosuch"`), `filter = { zone = "nosuch" MAAS knows no zone "nosuch" Known`},
		"Pool":        {"An unknown resource pool is an error and not an empty list.", machines(`pool = "nosuch"`), `MAAS knows no resource pool "nosuch"`},
		"EmptyZone":   {"An empty name names no zone.", machines(`zone = ""`), `filter.zone It is empty`},
		"NoCores":     {"Every machine has a core, so zero filters nothing.", machines(`min_cores = 0`), `min_cores at least 1`},
		"NullTag":     {"A tag cannot be null.", machines(`tags = [null]`), `contains a null value`},
		"EmptyTag":    {"A tag cannot be empty.", machines(`tags = [""]`), `filter.tags must be 1 to 256`},
		"VID":         {"A VLAN tag has only twelve bits.", `data "maaslxd_subnets" "x" { filter = { vid = 5000 } }`, `filter.vid between 0 and 4094`},
		"Fabric":      {"An unknown fabric is an error and not an empty list.", `data "maaslxd_subnets" "x" { filter = { fabric = "nosuch" } }`, `filter = { fabric = "nosuch" MAAS knows no fabric with a subnet, called "nosuch" Known`},
		"Space":       {"An unknown space is an error and not an empty list.", `data "maaslxd_subnets" "x" { filter = { space = "nosuch" } }`, `filter = { space = "nosuch" MAAS knows no space with a subnet, called "nosuch"`},
		"EmptyFabric": {"An empty name names no fabric.", `data "maaslxd_subnets" "x" { filter = { fabric = "" } }`, `filter.fabric It is empty`},
		"NoSize":      {"The capacity depends on the memory of a VM.", `data "maaslxd_capacity" "x" { cores = 1 }`, `memory_mib is required`},
		"NoCore":      {"A VM has at least one core.", `data "maaslxd_capacity" "x" { ` + "\n  cores = 0\n  memory_mib = 1024\n}", `cores between 1 and`},
		"OtherZone":   {"An unknown zone is an error and not a capacity of none.", `data "maaslxd_capacity" "x" { ` + "\n  cores = 1\n  memory_mib = 1024\n  zone = \"nosuch\"\n}", `zone = "nosuch" MAAS knows no zone "nosuch" Known`},
		"OtherPool":   {"An unknown resource pool is an error and not a capacity of none.", `data "maaslxd_capacity" "x" { ` + "\n  cores = 1\n  memory_mib = 1024\n  pool = \"nosuch\"\n}", `MAAS knows no resource pool "nosuch"`},
		"NullDisk":    {"A disk needs a size.", `data "maaslxd_capacity" "x" { ` + "\n  cores = 1\n  memory_mib = 1024\n  disks = [null]\n}", `contains a null value`},
		"EmptyArch":   {"An empty name names no architecture.", `data "maaslxd_images" "x" { architecture = "" }`, `architecture It is empty`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			t.Log(tc.reason)
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				Steps:                    []resource.TestStep{{Config: x.config(tc.config), ExpectError: wordsPattern(tc.want)}},
			})
		})
	}
}

// TestAccDataCatalogSharesLists reads each list ten times at once, and wants
// one call of MAAS for it.
func TestAccDataCatalogSharesLists(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	if x.sim != nil {
		x.sim.AddFault(sim.Fault{Method: http.MethodGet, Path: "*", Kind: sim.FaultDelay, Delay: 200 * time.Millisecond})
	}
	config := ""
	for _, kind := range []string{"zones", "pools", "domains", "subnets", "images"} {
		config += fmt.Sprintf("data \"maaslxd_%s\" \"x\" {\n  count = 10\n}\n", kind)
	}
	w := newWorkspace(t, x.config(config))
	w.run(t, "plan", "-no-color")
	for _, route := range []string{"GET zones/", "GET resourcepools/", "GET domains/", "GET subnets/", "GET boot-resources/"} {
		if n, counted := x.countCalls(t, route); counted && n != 1 {
			t.Errorf("%s: %d calls for ten data sources, want 1", route, n)
		}
	}
}
