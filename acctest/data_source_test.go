package acctest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// expectDataValue checks a value of a data source. The steps of its path are
// separated by dots.
func expectDataValue(address, at string, value knownvalue.Check) statecheck.StateCheck {
	first, rest, nested := strings.Cut(at, ".")
	path := tfjsonpath.New(first)
	for part := range strings.SplitSeq(rest, ".") {
		switch {
		case !nested:
		case part == "0":
			path = path.AtSliceIndex(0)
		default:
			path = path.AtMapKey(part)
		}
	}
	return statecheck.ExpectKnownValue(address, path, value)
}

func exactNumber(n int64) knownvalue.Check { return knownvalue.Int64Exact(n) }

// makeUnmanagedVM makes a VM on the first host without our provider.
func (x *target) makeUnmanagedVM(t *testing.T, name string, cores int) {
	t.Helper()
	if isLXDColumn() {
		x.enlistVM(t, x.simulatorOrSkip().LXDs()[0].Name, name, cores)
		return
	}
	x.postForm(t, fmt.Sprintf("vm-hosts/%d/?op=compose", x.vmHostNumber(t)), url.Values{"hostname": {name}, "cores": {strconv.Itoa(cores)}, "memory": {"2048"}})
}

// TestAccDataHosts reads hosts, one by one and with filters, before and after a
// VM is made on one of them.
func TestAccDataHosts(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, func(m *sim.Model) { m.Hosts[0].CPUOvercommit, m.Hosts[0].Pool = 2, "kvm" })
	name := x.name()
	sources := func(depends string) string {
		return strings.NewReplacer("DEPENDS", depends).Replace(`
data "maaslxd_vm_host" "name" {
  name = "lxd1"
  DEPENDS
}
data "maaslxd_vm_host" "id" {
  vm_host_id = data.maaslxd_vm_host.name.vm_host_id
}
data "maaslxd_vm_host" "machine" {
  system_id = data.maaslxd_vm_host.name.system_id
}
data "maaslxd_vm_hosts" "all" {
  DEPENDS
}
data "maaslxd_vm_hosts" "one" {
  filter = { zone = "az1", pool = "kvm", tags = ["rack1"], storage_pool = "fast", min_free_cores = 14, min_free_memory_mib = 14336 }
  DEPENDS
}
data "maaslxd_vm_hosts" "none" {
  filter = { min_free_cores = 17 }
  DEPENDS
}
`)
	}
	const host, all = "data.maaslxd_vm_host.name", "data.maaslxd_vm_hosts.all"
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{
				Config: x.config(sources("")),
				ConfigStateChecks: []statecheck.StateCheck{
					expectDataValue(host, "zone", exactText("az1")), expectDataValue(host, "pool", exactText("kvm")), expectDataValue(host, "vm_host_id", exactNumber(1)),
					expectDataValue(host, "cores.total", exactNumber(8)), expectDataValue(host, "cores.used", exactNumber(0)), expectDataValue(host, "cores.free", exactNumber(16)),
					expectDataValue(host, "memory_mib.free", exactNumber(16384)), expectDataValue(host, "cpu_overcommit", knownvalue.Float64Exact(2)),
					expectDataValue(host, "storage_pools.default.default", knownvalue.Bool(true)), expectDataValue(host, "storage_pools.fast.total_gb", exactNumber(50)),
					expectDataValue(host, "lxd_version", checkLXDVersion()), expectDataValue(host, "vm_count", exactNumber(0)), expectDataValue(host, "profiles", knownvalue.Null()),
					expectDataValue("data.maaslxd_vm_host.id", "name", exactText("lxd1")), expectDataValue("data.maaslxd_vm_host.machine", "name", exactText("lxd1")),
					expectDataValue(all, "vm_hosts", knownvalue.ListSizeExact(2)), expectDataValue(all, "vm_hosts.0.name", exactText("lxd1")),
					expectDataValue("data.maaslxd_vm_hosts.one", "vm_hosts", knownvalue.ListSizeExact(1)),
					expectDataValue("data.maaslxd_vm_hosts.none", "vm_hosts", knownvalue.ListSizeExact(0)),
				},
			},
			{
				PreConfig: func() { x.makeUnmanagedVM(t, "stranger", 2) },
				Config:    x.config(x.vm(name, `cores = 3`) + sources("depends_on = [maaslxd_vm.test]")),
				ConfigStateChecks: []statecheck.StateCheck{
					expectDataValue(host, "cores.used", exactNumber(5)), expectDataValue(host, "cores.free", exactNumber(11)),
					expectDataValue(host, "vm_count", exactNumber(2)), expectDataValue(host, "managed_vm_count", exactNumber(1)),
					expectDataValue("data.maaslxd_vm_hosts.one", "vm_hosts", knownvalue.ListSizeExact(0)),
				},
			},
			{Config: x.config(x.vm(name, `cores = 3`))},
		},
	})
}

// TestAccDataVMs reads VMs of any origin.
func TestAccDataVMs(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	x.makeUnmanagedVM(t, "stranger", 2)
	other := "2" // the other host's number in MAAS, where it has one
	if isLXDColumn() {
		other = "lxd2"
	}
	list := func(title, filter string) string {
		return "data \"maaslxd_vms\" \"" + title + "\" {\n  filter = " + filter + "\n  depends_on = [maaslxd_vm.test]\n}\n"
	}
	config := x.config(x.vm(name, `cores = 2`, `tags = ["tf-acc-a", "tf-acc-b"]`, `zone = "az2"`, `pool = "kvm"`, x.deploy()) + `
data "maaslxd_vm" "name" {
  name       = maaslxd_vm.test.name
  depends_on = [maaslxd_vm.test]
}
data "maaslxd_vm" "id" {
  id = data.maaslxd_vm.name.id
}
` + list("all", "null") + list("host", `{ vm_host = "lxd1" }`) + list("hostid", fmt.Sprintf("{ vm_host = %q }", other)) + list("mine", `{ owner = "tf-acc" }`) +
		list("ours", `{ managed = true }`) + list("others", `{ managed = false }`) + list("nobodys", `{ owner = "nobody" }`) +
		list("filtered", `{ zone = "az2", pool = "kvm", tags = ["tf-acc-a"] }`) + list("elsewhere", `{ zone = "az2", tags = ["x"] }`))
	checks := []statecheck.StateCheck{
		expectDataValue("data.maaslxd_vms.others", "vms.0.name", exactText("stranger")),
		expectDataValue("data.maaslxd_vms.others", "vms.0.managed", knownvalue.Bool(false)),
		expectDataValue("data.maaslxd_vms.others", "vms.0.owner", knownvalue.Null()),
		expectDataValue("data.maaslxd_vms.filtered", "vms.0.name", exactText(name)),
		expectDataValue("data.maaslxd_vm.id", "name", exactText(name)),
	}
	for title, n := range map[string]int{
		"all": 2, "host": 2, "hostid": 0, "mine": 1, "ours": 1, "others": 1, "nobodys": 0, "filtered": 1, "elsewhere": 0,
	} {
		checks = append(checks, expectDataValue("data.maaslxd_vms."+title, "vms", knownvalue.ListSizeExact(n)))
	}
	for at, value := range map[string]knownvalue.Check{
		"cores": exactNumber(2), "memory_mib": exactNumber(2048), "zone": exactText("az2"), "pool": exactText("kvm"), "status": exactText("Deployed"),
		"vm_host_name": exactText("lxd1"), "vm_host_id": checkHostNumber(exactNumber(1)), "image": exactText("ubuntu/noble"), "power_state": exactText("on"),
		"managed": knownvalue.Bool(true), "owner": exactText("tf-acc"), "ip_addresses": knownvalue.ListSizeExact(1),
		"disks.0.size_gb": exactNumber(8), "interfaces": knownvalue.ListSizeExact(1), "architecture": exactText("amd64/generic"),
	} {
		checks = append(checks, expectDataValue("data.maaslxd_vm.name", at, value))
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps:                    []resource.TestStep{{Config: config, ConfigStateChecks: checks}},
	})
}

// TestAccDataBadInput wants one clear error for each case.
func TestAccDataBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		config string
		world  func(*sim.Model)
		want   string
	}{
		"NoHost":        {reason: "No VM host has this name, and the error lists the known ones.", config: `data "maaslxd_vm_host" "x" { name = "lxd9" }`, want: `No such VM host name "lxd9" lxd1`},
		"NoHostID":      {reason: "No VM host has this id, and the error lists the known ones.", config: `data "maaslxd_vm_host" "x" { vm_host_id = 99 }`, want: `No such VM host vm_host_id 99 lxd1`},
		"NoMachine":     {reason: "No VM host is on this machine, and the error lists the known ones.", config: `data "maaslxd_vm_host" "x" { system_id = "abcdef" }`, want: `No such VM host system_id "abcdef" lxd1`},
		"NoHosts":       {reason: "This MAAS has no VM hosts.", world: func(m *sim.Model) { m.Hosts = nil }, config: `data "maaslxd_vm_host" "x" { name = "lxd9" }`, want: `No such VM host There are none`},
		"HostUnsaid":    {reason: "Nothing chooses a VM host.", config: `data "maaslxd_vm_host" "x" {}`, want: `Exactly one of these name vm_host_id system_id`},
		"HostTwice":     {reason: "Name and id may choose two different VM hosts.", config: `data "maaslxd_vm_host" "x" { ` + "\n" + `name = "lxd1"` + "\n" + `vm_host_id = 1` + "\n" + `}`, want: `Exactly one of these name vm_host_id system_id`},
		"HostNameEmpty": {reason: "An empty name names no VM host.", config: `data "maaslxd_vm_host" "x" { name = "" }`, want: `name It is empty`},
		"HostIDZero":    {reason: "The ids of MAAS begin at 1.", config: `data "maaslxd_vm_host" "x" { vm_host_id = 0 }`, want: `vm_host_id at least 1`},
		"MinCores":      {reason: "Zero cores filter nothing.", config: `data "maaslxd_vm_hosts" "x" { filter = { min_free_cores = 0 } }`, want: `min_free_cores at least 1`},
		"EmptyTag":      {reason: "A tag cannot be empty.", config: `data "maaslxd_vm_hosts" "x" { filter = { tags = [""] } }`, want: `filter.tags must be 1 to 256`},
		"NoVM":          {reason: "MAAS has no VM of this name.", config: `data "maaslxd_vm" "x" { name = "web-9" }`, want: `No such VM name "web-9"`},
		"NoVMID":        {reason: "MAAS has no VM with this id.", config: `data "maaslxd_vm" "x" { id = "abcdef" }`, want: `No such VM id "abcdef"`},
		"VMUnsaid":      {reason: "Nothing chooses a VM.", config: `data "maaslxd_vm" "x" {}`, want: `Exactly one of these id name`},
		"VMsHost":       {reason: "An unknown VM host is an error and not an empty list.", config: `data "maaslxd_vms" "x" { filter = { vm_host = "lxd9" } }`, want: `filter = { vm_host = "lxd9" MAAS knows no VM host "lxd9" lxd1`},
		"VMsZone":       {reason: "An unknown zone is an error and not an empty list.", config: `data "maaslxd_vms" "x" { filter = { zone = "mars" } }`, want: `filter = { zone = "mars" MAAS knows no zone "mars" Known az1`},
		"VMsPool":       {reason: "An unknown resource pool is an error and not an empty list.", config: `data "maaslxd_vms" "x" { filter = { pool = "mars" } }`, want: `filter = { pool = "mars" MAAS knows no resource pool "mars" Known kvm`},
		"HostsZone":     {reason: "The error tells of a name that differs by case.", config: `data "maaslxd_vm_hosts" "x" { filter = { zone = "AZ1" } }`, want: `filter = { zone = "AZ1" MAAS knows no zone "AZ1" Did you mean "az1"`},
		"HostsPool":     {reason: "An unknown resource pool is an error and not an empty list.", config: `data "maaslxd_vm_hosts" "x" { filter = { pool = "mars" } }`, want: `filter = { pool = "mars" MAAS knows no resource pool "mars" Known kvm`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var changes []func(*sim.Model)
			if tc.world != nil {
				changes = append(changes, tc.world)
			}
			x := newTarget(t, changes...)
			t.Log(tc.reason)
			if x.sim == nil && tc.world != nil {
				t.Skip("it needs a MAAS without VM hosts")
			}
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				Steps:                    []resource.TestStep{{Config: x.config(tc.config), ExpectError: wordsPattern(tc.want)}},
			})
		})
	}
}

// TestAccDataSharesLooks reads twenty data sources from a slow MAAS, and wants
// few listings. The CLI reads ten at once. The first may begin alone, and the
// others share a look. Each look lists the hosts, their VMs and their machines.
func TestAccDataSharesLooks(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	x.makeUnmanagedVM(t, "stranger", 2)
	if x.sim == nil {
		leaveOut(t, "slow MAAS down", "that would break it")
	} else {
		x.sim.AddFault(sim.Fault{Method: http.MethodGet, Path: "machines/", Kind: sim.FaultDelay, Delay: 2 * time.Second})
	}
	w := newWorkspace(t, x.config("data \"maaslxd_vm\" \"x\" {\n  count = 20\n  name = \"stranger\"\n}\n"))
	if x.sim != nil {
		x.sim.ResetJournal()
	}
	w.run(t, "plan", "-no-color")
	if n, counted := x.countCalls(t, "GET machines/"); counted && (n < 2 || n > 12) {
		t.Errorf("20 data sources listed the machines %d times, want 2 to 12", n)
	} else {
		t.Logf("20 data sources listed the machines %d times", n)
	}
}
