package acctest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// wantRefusedPlan checks that a plan is an error with these words, so that
// there is no apply.
func (w workspace) wantRefusedPlan(t *testing.T, want string) {
	t.Helper()
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil {
		t.Errorf("it was applied:\n%s", out)
	}
	text := unwrapMessage(out.String())
	if !wordsPattern(want).MatchString(text) {
		t.Errorf("want an error with the words %q, got:\n%s", want, out)
	}
	if strings.Contains(text, "Destroying...") || strings.Contains(text, "Modifying...") || strings.Contains(text, "Creating...") {
		t.Errorf("something was begun before the error:\n%s", out)
	}
}

// TestAccWorkflowTypoVM changes one word of an existing VM. It does so in each
// attribute that replaces the VM or that MAAS is called with. It wants an error
// of the plan, without destroying the VM.
func TestAccWorkflowTypoVM(t *testing.T) {
	t.Parallel()
	x := newSizedTarget(t)
	const name = "web"
	standing := func(change string) string {
		attributes := map[string]string{
			"vm_host": `"lxd1"`, "disks": `{ root = { size_gb = 8 } }`, "interfaces": `{ eth0 = { subnet = "lan", ip = "10.77.0.42" } }`,
			"deploy": `{ image = "ubuntu/noble" }`,
		}
		if attribute, value, found := strings.Cut(change, " = "); found {
			attributes[attribute] = value
		}
		body := fmt.Sprintf("resource \"maaslxd_vm\" \"test\" {\n  name = %q\n", name)
		for attribute, value := range attributes {
			body += fmt.Sprintf("  %s = %s\n", attribute, value)
		}
		return x.config(body + "}\n")
	}
	w := newWorkspace(t, standing(""))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, name)
	x.postForm(t, "machines/", map[string][]string{"hostname": {"metal"}, "architecture": {"amd64/generic"}, "mac_addresses": {"00:16:3e:aa:aa:aa"}, "power_type": {"manual"}})
	cases := map[string]struct{ change, want string }{
		"Host":             {`vm_host = "lxd9"`, `Cannot replace VM web vm_host lxd9 Known: lxd1, lxd2 before VM web is destroyed`},
		"HostByCase":       {`vm_host = "LXD1"`, `LXD1 Did you mean "lxd1"`},
		"Image":            {`deploy = { image = "ubuntu/nobel" }`, `deploy.image ubuntu/nobel ubuntu/noble`},
		"Kernel":           {`deploy = { image = "ubuntu/jammy", kernel = "ga-24.04" }`, `deploy.kernel ga-24.04 ga-22.04`},
		"Subnet":           {`interfaces = { eth0 = { subnet = "lann" } }`, `subnet "lann"`},
		"SubnetByCIDR":     {`interfaces = { eth0 = { subnet = "10.9.0.0/24" } }`, `subnet "10.9.0.0/24"`},
		"SubnetWithNoDHCP": {`interfaces = { eth0 = { subnet = "dark" } }`, `no DHCP`},
		"StoragePool":      {`disks = { root = { size_gb = 8, pool = "nope" } }`, `VM host lxd1 has no storage pool "nope" default`},
		"DiskBeyondPool":   {`disks = { root = { size_gb = 8 }, data = { size_gb = 51, pool = "fast" } }`, `fast 50 GB left`},
		"Cores":            {`cores = 99`, `99 cores are more than`},
		"AddressOfMAAS":    {`interfaces = { eth0 = { subnet = "lan", ip = "10.77.0.200" } }`, `10.77.0.200 dynamic range`},
		"AddressElsewhere": {`interfaces = { eth0 = { subnet = "lan", ip = "10.99.0.1" } }`, `10.99.0.1 is not in 10.77.0.0/24`},
		"AddressOfAnother": {`interfaces = { eth0 = { subnet = "lan", ip = "10.77.0.43" } }`, `10.77.0.43 is in use by`},
		"Zone":             {`zone = "az9"`, `Cannot update VM web zone "az9" az1 apply -target=`},
		"Pool":             {`pool = "nope"`, `Cannot update VM web resource pool "nope"`},
		"Domain":           {`domain = "nope.org"`, `Cannot update VM web domain "nope.org"`},
	}
	x.postForm(t, "dnsresources/", map[string][]string{"fqdn": {"www.maas"}, "ip_addresses": {"10.77.0.43"}})
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			w.configure(t, standing(tc.change))
			w.wantRefusedPlan(t, tc.want)
			if m := x.findMachine(t, name); m.SystemID != made.SystemID {
				t.Errorf("the VM is another one now: %+v", m)
			}
		})
	}
	w.configure(t, standing(""))
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.configure(t, standing(`deploy = { image = "ubuntu/jammy" }`))
	w.run(t, "apply", "-auto-approve", "-no-color") // its own address is no conflict
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
}

// TestAccWorkflowTypoForced forces a VM's replacement, and wants the same
// checks. Terraform plans that like a new VM.
func TestAccWorkflowTypoForced(t *testing.T) {
	t.Parallel()
	for title, force := range map[string][]string{"Replace": {"-replace=" + vmAddress}, "Taint": nil} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			w := newWorkspace(t, x.config(x.vm("web", `deploy = { image = "ubuntu/noble" }`)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			made := x.findMachine(t, "web")
			w.configure(t, x.config(x.vm("web", `deploy = { image = "ubuntu/nobel" }`)))
			if force == nil {
				w.run(t, "taint", vmAddress)
			}
			cmd, out := w.command(t.Context(), append([]string{"apply", "-auto-approve", "-no-color"}, force...)...)
			if err := cmd.Run(); err == nil || !wordsPattern("ubuntu/nobel").MatchString(out.String()) {
				t.Errorf("want an error, got %v:\n%s", err, out)
			}
			if m := x.findMachine(t, "web"); m.SystemID != made.SystemID {
				t.Errorf("the VM is another one now: %+v", m)
			}
		})
	}
}

// TestAccWorkflowTypoCreate: a plan that only creates warns, because the same
// run may make what is named.
func TestAccWorkflowTypoCreate(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(x.vm("web", `zone = "az9"`)))
	out := unwrapMessage(w.run(t, "plan", "-no-color"))
	if !wordsPattern(`Warning: Cannot create VM web as things are zone az9`).MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
	x.host = "kvm-9"
	w.configure(t, x.config(x.vm("web")))
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`kvm-9 refer to it by its id`).MatchString(out) {
		t.Errorf("want a warning that tells of .id, got:\n%s", out)
	}
}

// TestAccWorkflowNoHostYet places a VM where no host fits. Most often the same
// run makes the host, and the VM does not depend on it.
func TestAccWorkflowNoHostYet(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config("resource \"maaslxd_vm\" \"web\" {\n  name = \"web\"\n  placement = { tags = [\"kvm\"] }\n}\n"))
	out := unwrapMessage(w.run(t, "plan", "-no-color"))
	if !wordsPattern(`Warning: Cannot create VM web as things are no VM host fits web depends_on = [maaslxd_vm_host.NAME]`).MatchString(out) {
		t.Errorf("want a warning that tells of depends_on, got:\n%s", out)
	}
}

// TestAccWorkflowRoomTogether plans more VMs than their host has room for. It
// reads the warnings as JSON, because the CLI shows people only one of several
// similar ones.
func TestAccWorkflowRoomTogether(t *testing.T) {
	t.Parallel()
	x := newSizedTarget(t)
	w := newWorkspace(t, x.config(`resource "maaslxd_vm" "many" {
  count   = 18
  name    = "vm-${count.index}"
  vm_host = "lxd1"
}`))
	if out := w.run(t, "plan", "-json"); !strings.Contains(out, "the VMs planned for VM host lxd1 take more than it has") {
		t.Errorf("want a warning of the room that is taken together, got:\n%s", out)
	}
}

// TestAccWorkflowReplacedWithoutRoom forces the replacement of a VM. Terraform deletes it before
// it makes the new one, so the plan is refused if no VM host has room. The VM's own room counts.
func TestAccWorkflowReplacedWithoutRoom(t *testing.T) {
	t.Parallel()
	x := newSizedTarget(t)
	config := func(placement string) string {
		body := fmt.Sprintf("resource \"maaslxd_vm\" \"web\" {\n  name = \"web\"\n  memory_mib = 4096\n  placement = { %s }\n}\n", placement)
		for host, memory := range map[string]int{"lxd1": 12288, "lxd2": 14336} {
			body += fmt.Sprintf("resource \"maaslxd_vm\" %[1]q {\n  name = \"on-%[1]s\"\n  vm_host = %[1]q\n  memory_mib = %[2]d\n}\n", host, memory)
		}
		return x.config(body)
	}
	w := newWorkspace(t, config(`zone = "az1"`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	force := []string{"apply", "-auto-approve", "-no-color", "-replace=maaslxd_vm.web"}
	for conditions, want := range map[string]string{`zone = "az2"`: "too little memory", `tags = ["kvm"]`: `tag "kvm"`} {
		w.configure(t, config(conditions))
		w.wantCommandFailure(t, "Cannot replace VM web no VM host fits web "+want+" before VM web is destroyed", force...)
	}
	if m := x.findMachine(t, "web"); m.SystemID != made.SystemID {
		t.Errorf("the VM is another one now: %+v", m)
	}
	w.configure(t, config(`zone = "az1"`)) // the VMs fill their host, and take their own room again
	w.run(t, append(force, "-replace=maaslxd_vm.lxd1")...)
	if m := x.findMachine(t, "web"); m.SystemID == made.SystemID {
		t.Errorf("the VM was not replaced: %+v", m)
	}
}

// TestAccWorkflowTypoAddresses swaps the fixed addresses of two VMs. Each has
// the address that the other wants, and the run may free it.
func TestAccWorkflowTypoAddresses(t *testing.T) {
	t.Parallel()
	x := newSizedTarget(t)
	config := func(first, second string) string {
		body := ""
		for label, ip := range map[string]string{"a": first, "b": second} {
			body += fmt.Sprintf("resource \"maaslxd_vm\" %q {\n  name = \"vm-%s\"\n  vm_host = \"lxd1\"\n  interfaces = { eth0 = { subnet = \"lan\", ip = %q } }\n}\n", label, label, ip)
		}
		return x.config(body)
	}
	w := newWorkspace(t, config("10.77.0.42", "10.77.0.43"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, config("10.77.0.43", "10.77.0.42"))
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`Warning: 10.77.0.43 is in use by`).MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
}

// TestAccWorkflowTypoHost changes one word of an existing VM host.
func TestAccWorkflowTypoHost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "node1")
	cases := map[string]struct{ config, want string }{
		"Machine":         {vmHost("kvm1", `machine = "node9"`, deployNoble), `Cannot replace VM host kvm1 no machine "node9"`},
		"MachineByCase":   {vmHost("kvm1", `machine = "NODE1"`, deployNoble), `"NODE1" Did you mean "node1"`},
		"MachineByDomain": {vmHost("kvm1", `machine = "node1.example.org"`, deployNoble), `"node1.example.org" Did you mean "node1.maas"`},
		"MachineTooSmall": {vmHost("kvm1", `machine = "small"`, deployNoble, `lxd = { storage_pools = { default = { driver = "zfs", size_gb = 90 } } }`), `the storage pools take 90 GB`},
		"Image":           {vmHost("kvm1", `machine = "node1"`, `deploy = { image = "ubuntu/nobel" }`), `deploy.image "ubuntu/nobel"`},
		"Kernel":          {vmHost("kvm1", `machine = "node1"`, `deploy = { image = "ubuntu/noble", kernel = "ga-99.04" }`), `deploy.kernel "ga-99.04"`},
		"BridgeSubnet":    {hostOnNode1(`bridge = { subnet = "mars" }`), `bridge.subnet "mars"`},
		"BridgeNIC":       {hostOnNode1(`bridge = { nic = "eth9" }`), `bridge.nic "eth9"`},
		"Zone":            {hostOnNode1(`zone = "az9"`), `Cannot update VM host kvm1 zone "az9"`},
		"Pool":            {hostOnNode1(`pool = "nope"`), `Cannot update VM host kvm1 resource pool "nope"`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			if isOnSite() && strings.HasPrefix(title, "MachineBy") {
				t.Skip("it is about the spelling of a name in the simulated model")
			}
			w.configure(t, x.config(tc.config))
			w.wantRefusedPlan(t, tc.want)
			m := x.findMachine(t, "node1")
			if m.StatusName != "Deployed" || m.SystemID != made.SystemID || m.Owner != made.Owner {
				t.Errorf("the machine was touched: %+v", m)
			}
		})
	}
	for _, same := range []string{`machine = "node1.maas"`, fmt.Sprintf("machine = %q", made.SystemID)} {
		w.configure(t, x.config(vmHost("kvm1", same, deployNoble)))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.run(t, "plan", "-detailed-exitcode", "-no-color")
	}
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
		t.Errorf("the machine was given back: %+v", m)
	}
}

// TestAccWorkflowPlanCalls counts the calls of MAAS by a plan's checks: lists
// that all VMs share, and names in batches.
func TestAccWorkflowPlanCalls(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, func(m *sim.Model) { m.Hosts[0].Cores, m.Hosts[0].MemoryMiB = 200, 1<<20 })
	w := newWorkspace(t, x.config(`resource "maaslxd_vm" "many" {
  count      = 50
  name       = "vm-${count.index}"
  vm_host    = "lxd1"
  zone       = "az1"
  interfaces = { eth0 = { subnet = "lan" } }
  deploy     = { image = "ubuntu/noble" }
}`))
	before := len(x.simulatorOrSkip().Journal().Calls)
	w.run(t, "plan", "-no-color")
	if n := len(x.simulatorOrSkip().Journal().Calls) - before; n > 25 {
		t.Errorf("the plan of 50 VMs made %d calls of MAAS", n)
	}
}
