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

// read expects a value at a path of a data source, whose steps have dots
// between them.
func read(address, at string, value knownvalue.Check) statecheck.StateCheck {
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

func number(n int64) knownvalue.Check { return knownvalue.Int64Exact(n) }

// stranger has a VM made on the first host that nobody manages.
func (x *target) stranger(t *testing.T, name string, cores int) {
	t.Helper()
	if onLXD() {
		x.enlisted(t, name, cores)
		return
	}
	x.post(t, fmt.Sprintf("vm-hosts/%d/?op=compose", x.hostID(t)), url.Values{"hostname": {name}, "cores": {strconv.Itoa(cores)}, "memory": {"2048"}})
}

// TestAccDataHosts reads hosts, one by one and filtered, before and after a VM
// is made on one of them.
func TestAccDataHosts(t *testing.T) {
	t.Parallel()
	x := simulated(t, func(m *sim.Model) { m.Hosts[0].CPUOvercommit, m.Hosts[0].Pool = 2, "kvm" })
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
	story(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkEmpty(name),
		Steps: []resource.TestStep{
			{
				Config: x.config(sources("")),
				ConfigStateChecks: []statecheck.StateCheck{
					read(host, "zone", text("az1")), read(host, "pool", text("kvm")), read(host, "vm_host_id", number(1)),
					read(host, "cores.total", number(8)), read(host, "cores.used", number(0)), read(host, "cores.free", number(16)),
					read(host, "memory_mib.free", number(16384)), read(host, "cpu_overcommit", knownvalue.Float64Exact(2)),
					read(host, "storage_pools.default.default", knownvalue.Bool(true)), read(host, "storage_pools.fast.total_gb", number(50)),
					read(host, "lxd_version", lxdVersionIs()), read(host, "vm_count", number(0)), read(host, "profiles", knownvalue.Null()),
					read("data.maaslxd_vm_host.id", "name", text("lxd1")), read("data.maaslxd_vm_host.machine", "name", text("lxd1")),
					read(all, "vm_hosts", knownvalue.ListSizeExact(2)), read(all, "vm_hosts.0.name", text("lxd1")),
					read("data.maaslxd_vm_hosts.one", "vm_hosts", knownvalue.ListSizeExact(1)),
					read("data.maaslxd_vm_hosts.none", "vm_hosts", knownvalue.ListSizeExact(0)),
				},
			},
			{
				PreConfig: func() { x.stranger(t, "stranger", 2) },
				Config:    x.config(x.vm(name, `cores = 3`) + sources("depends_on = [maaslxd_vm.test]")),
				ConfigStateChecks: []statecheck.StateCheck{
					read(host, "cores.used", number(5)), read(host, "cores.free", number(11)),
					read(host, "vm_count", number(2)), read(host, "managed_vm_count", number(1)),
					read("data.maaslxd_vm_hosts.one", "vm_hosts", knownvalue.ListSizeExact(0)),
				},
			},
			{Config: x.config(x.vm(name, `cores = 3`))},
		},
	})
}

// TestAccDataVMs reads VMs, whoever made them.
func TestAccDataVMs(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	x.stranger(t, "stranger", 2)
	other := "2" // its number in MAAS, where it has one
	if onLXD() {
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
		read("data.maaslxd_vms.others", "vms.0.name", text("stranger")),
		read("data.maaslxd_vms.others", "vms.0.managed", knownvalue.Bool(false)),
		read("data.maaslxd_vms.others", "vms.0.owner", knownvalue.Null()),
		read("data.maaslxd_vms.filtered", "vms.0.name", text(name)),
		read("data.maaslxd_vm.id", "name", text(name)),
	}
	for title, n := range map[string]int{
		"all": 2, "host": 2, "hostid": 0, "mine": 1, "ours": 1, "others": 1, "nobodys": 0, "filtered": 1, "elsewhere": 0,
	} {
		checks = append(checks, read("data.maaslxd_vms."+title, "vms", knownvalue.ListSizeExact(n)))
	}
	for at, value := range map[string]knownvalue.Check{
		"cores": number(2), "memory_mib": number(2048), "zone": text("az2"), "pool": text("kvm"), "status": text("Deployed"),
		"vm_host_name": text("lxd1"), "vm_host_id": hostNumber(number(1)), "image": text("ubuntu/noble"), "power_state": text("on"),
		"managed": knownvalue.Bool(true), "owner": text("tf-acc"), "ip_addresses": knownvalue.ListSizeExact(1),
		"disks.0.size_gb": number(8), "interfaces": knownvalue.ListSizeExact(1), "architecture": text("amd64/generic"),
	} {
		checks = append(checks, read("data.maaslxd_vm.name", at, value))
	}
	story(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkEmpty(name),
		Steps:                    []resource.TestStep{{Config: config, ConfigStateChecks: checks}},
	})
}

// TestAccDataBadInput wants one clear error each.
func TestAccDataBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		config string
		world  func(*sim.Model)
		want   string
	}{
		"NoHost":        {reason: "Known ones are listed.", config: `data "maaslxd_vm_host" "x" { name = "lxd9" }`, want: `No such VM host name "lxd9" lxd1`},
		"NoHostID":      {reason: "By id, too.", config: `data "maaslxd_vm_host" "x" { vm_host_id = 99 }`, want: `No such VM host vm_host_id 99 lxd1`},
		"NoMachine":     {reason: "And by machine.", config: `data "maaslxd_vm_host" "x" { system_id = "abcdef" }`, want: `No such VM host system_id "abcdef" lxd1`},
		"NoHosts":       {reason: "A MAAS without any.", world: func(m *sim.Model) { m.Hosts = nil }, config: `data "maaslxd_vm_host" "x" { name = "lxd9" }`, want: `No such VM host There is none`},
		"HostUnsaid":    {reason: "Which one?", config: `data "maaslxd_vm_host" "x" {}`, want: `Exactly one of these name vm_host_id system_id`},
		"HostTwice":     {reason: "One way to say it.", config: `data "maaslxd_vm_host" "x" { ` + "\n" + `name = "lxd1"` + "\n" + `vm_host_id = 1` + "\n" + `}`, want: `Exactly one of these name vm_host_id system_id`},
		"HostNameEmpty": {reason: "Empty is not absent.", config: `data "maaslxd_vm_host" "x" { name = "" }`, want: `name It is empty`},
		"HostIDZero":    {reason: "MAAS counts from 1.", config: `data "maaslxd_vm_host" "x" { vm_host_id = 0 }`, want: `vm_host_id at least 1`},
		"MinCores":      {reason: "Less than one is no filter.", config: `data "maaslxd_vm_hosts" "x" { filter = { min_free_cores = 0 } }`, want: `min_free_cores at least 1`},
		"EmptyTag":      {reason: "MAAS has no empty tags.", config: `data "maaslxd_vm_hosts" "x" { filter = { tags = [""] } }`, want: `filter.tags must be 1 to 256`},
		"NoVM":          {reason: "Not there.", config: `data "maaslxd_vm" "x" { name = "web-9" }`, want: `No such VM name "web-9"`},
		"NoVMID":        {reason: "Nor by id.", config: `data "maaslxd_vm" "x" { id = "abcdef" }`, want: `No such VM id "abcdef"`},
		"VMUnsaid":      {reason: "Which one?", config: `data "maaslxd_vm" "x" {}`, want: `Exactly one of these id name`},
		"VMsHost":       {reason: "A host that is not there has not merely no VMs.", config: `data "maaslxd_vms" "x" { filter = { vm_host = "lxd9" } }`, want: `No such VM host "lxd9" lxd1`},
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
			story(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				Steps:                    []resource.TestStep{{Config: x.config(tc.config), ExpectError: words(tc.want)}},
			})
		})
	}
}

// TestAccDataSharesLooks reads twenty data sources of a MAAS that takes its
// time, and wants few listings: the CLI reads ten at once, of which the first
// may begin alone and the others share. Each look lists the hosts, their VMs and
// their machines.
func TestAccDataSharesLooks(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	x.stranger(t, "stranger", 2)
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
	if n, counted := x.calls(t, "GET machines/"); counted && (n < 2 || n > 12) {
		t.Errorf("20 data sources listed the machines %d times, want 2 to 12", n)
	} else {
		t.Logf("20 data sources listed the machines %d times", n)
	}
}
