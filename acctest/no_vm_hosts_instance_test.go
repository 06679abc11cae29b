package acctest_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	lxdclient "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"
)

// connectLXD connects to the LXD of a machine with the fleet's key, in its
// project.
func (x *metalTarget) connectLXD(t *testing.T, name string) lxdclient.InstanceServer {
	t.Helper()
	pair := x.fleetKeyPair()
	s, err := lxdclient.ConnectLXD("https://"+x.findLXD(t, name).Listening[0], &lxdclient.ConnectionArgs{
		TLSClientCert: pair.Certificate, TLSClientKey: pair.Key, InsecureSkipVerify: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Disconnect)
	return s.UseProject("maas")
}

// editInstance changes an instance as an administrator of its LXD does.
func (x *metalTarget) editInstance(t *testing.T, name string, change func(*api.InstancePut)) {
	t.Helper()
	s := x.connectLXD(t, "node1")
	i, etag, err := s.GetInstance(name)
	if err != nil {
		t.Fatal(err)
	}
	put := i.Writable()
	change(&put)
	op, err := s.UpdateInstance(name, put, etag)
	if err == nil {
		err = op.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wantInstance compares an instance in LXD, without what each VM has: its
// options, and its devices by their types and properties.
func (x *metalTarget) wantInstance(t *testing.T, name string, config map[string]string, devices ...string) {
	t.Helper()
	i, _, err := x.connectLXD(t, "node1").GetInstance(name)
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(i.Config, func(key, _ string) bool {
		return strings.HasPrefix(key, "user.maaslxd.") || strings.HasPrefix(key, "volatile.") || strings.HasPrefix(key, "limits.")
	})
	if diff := cmp.Diff(config, i.Config); diff != "" {
		t.Errorf("options of %s (-want +got):\n%s", name, diff)
	}
	have := map[string]bool{}
	for device, d := range i.Devices {
		if d["type"] != "disk" && d["type"] != "nic" {
			have[fmt.Sprint(device, " ", d)] = true
		}
	}
	want := map[string]bool{}
	for _, d := range devices {
		want[d] = true
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("devices of %s (-want +got):\n%s", name, diff)
	}
}

// TestAccGoneInstance gives a VM options and devices of LXD, changes them and
// removes them. Settings of other users stay. Changes to ours are undone.
func TestAccGoneInstance(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", attributes...))
	}
	const (
		devices = `devices = { tpm0 = { type = "tpm" }, card = { type = "pci", properties = { address = "0000:01:00.0" } } }`
		tpm     = `devices = { tpm0 = { type = "tpm" } }`
	)
	w := newWorkspace(t, vm(`config = { "user.team" = "billing", "boot.autostart" = "true", "security.secureboot" = "true" }`, devices))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	x.wantInstance(t, "web", map[string]string{"user.team": "billing", "boot.autostart": "true", "security.secureboot": "true"},
		"tpm0 map[type:tpm]", "card map[address:0000:01:00.0 type:pci]")
	w.wantEmptyPlan(t)

	w.configure(t, vm(`config = { "user.team" = "shop", "boot.autostart" = "true" }`, tpm))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.wantInstance(t, "web", map[string]string{"user.team": "shop", "boot.autostart": "true", "security.secureboot": "false"}, "tpm0 map[type:tpm]")
	w.wantEmptyPlan(t)

	x.editInstance(t, "web", func(i *api.InstancePut) {
		i.Config["user.team"], i.Config["user.other"] = "mine", "stays"
		delete(i.Config, "boot.autostart")
		delete(i.Devices, "tpm0")
	})
	if got := strings.Join(w.planActions(t), ","); got != "update" {
		t.Errorf("somebody changed the instance, and the plan wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.wantInstance(t, "web", map[string]string{"user.team": "shop", "user.other": "stays", "boot.autostart": "true", "security.secureboot": "false"}, "tpm0 map[type:tpm]")
	w.wantEmptyPlan(t)

	x.editInstance(t, "web", func(i *api.InstancePut) {
		i.Config["boot.autostart"] = "1"
		i.Devices["vTPM_0"] = map[string]string{"type": "tpm"}
	})
	theirs := map[string]string{"user.team": "shop", "user.other": "stays", "boot.autostart": "1", "security.secureboot": "false"}
	w.run(t, "state", "rm", vmAddress)
	w.run(t, "import", "-no-color", vmAddress, "web")
	w.configure(t, vm(`config = { "user.team" = "shop" }`))
	w.run(t, "apply", "-auto-approve", "-no-color") // an import takes over only what is declared
	x.wantInstance(t, "web", theirs, "tpm0 map[type:tpm]", "vTPM_0 map[type:tpm]")
	w.wantEmptyPlan(t)

	w.configure(t, vm(`devices = { vTPM_0 = { type = "tpm" } }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	delete(theirs, "user.team")
	x.wantInstance(t, "web", theirs, "tpm0 map[type:tpm]", "vTPM_0 map[type:tpm]")
	w.wantEmptyPlan(t)

	w.configure(t, vm())
	out := unwrapMessage(w.run(t, "apply", "-auto-approve", "-no-color"))
	if !wordsPattern(`VM web loses the keys of its TPM`).MatchString(out) || !wordsPattern(`the device vTPM_0 is removed`).MatchString(out) {
		t.Errorf("the plan does not warn of the keys:\n%s", out)
	}
	x.wantInstance(t, "web", theirs, "tpm0 map[type:tpm]")
	w.wantEmptyPlan(t)
	if id := x.findMachine(t, "web").SystemID; id != made {
		t.Errorf("it was made anew as %s", id)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneInstanceRuns changes options and devices of a running VM: those
// that LXD changes while it runs, and others only where the VM may be stopped.
func TestAccGoneInstanceRuns(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	needBoots(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", append(attributes, x.deploy())...))
	}
	w := newWorkspace(t, vm(`config = { "user.team" = "billing" }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantRunning := func() {
		t.Helper()
		if i := x.instances(); len(i) != 1 || !i[0].Running {
			t.Errorf("the VM does not run: %+v", i)
		}
	}
	w.configure(t, vm(`config = { "user.team" = "shop", "snapshots.pattern" = "s%d", "boot.stop.priority" = "3" }`, `devices = { key = { type = "usb", properties = { vendorid = "1d6b" } } }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.wantInstance(t, "web", map[string]string{"user.team": "shop", "snapshots.pattern": "s%d", "boot.stop.priority": "3", "security.secureboot": "false"},
		"key map[type:usb vendorid:1d6b]")
	wantRunning()
	w.wantEmptyPlan(t)

	const secure = `config = { "security.secureboot" = "true" }`
	w.configure(t, vm(secure))
	w.wantRefusedChange(t, x, "config", `Cannot update VM web web runs, and must be stopped to change security.secureboot Set allow_stopping_for_update = true`)
	w.configure(t, vm(`config = { "user.team" = "shop", "snapshots.pattern" = "s%d", "boot.stop.priority" = "3" }`, `devices = { card = { type = "pci", properties = { address = "0000:01:00.0" } } }`))
	w.wantRefusedChange(t, x, "devices", `Cannot update VM web web runs, and must be stopped to change device card`)
	w.configure(t, vm(secure, `allow_stopping_for_update = true`))
	if out := unwrapMessage(w.run(t, "apply", "-auto-approve", "-no-color")); !wordsPattern(`VM web is stopped for a while web runs, and must be stopped`).MatchString(out) {
		t.Errorf("the plan does not say that the VM is stopped:\n%s", out)
	}
	x.wantInstance(t, "web", map[string]string{"security.secureboot": "true"})
	wantRunning()
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneInterfaceCard gives an interface a MAC address and a bridge, and
// removes the lines. Another MAC replaces the VM.
func TestAccGoneInterfaceCard(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	on := func(card string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", `interfaces = { eth0 = { vlan = 0`+card+` } }`))
	}
	w := newWorkspace(t, on(`, bridge = "br0", mac_address = "52:54:00:12:34:56"`))
	hasMAC := func(want string) {
		t.Helper()
		var seen struct {
			Interfaces []struct {
				MAC string `json:"mac_address"`
			} `json:"interface_set"`
		}
		x.callAsOperator(t, "GET", "machines/"+x.findMachine(t, "web").SystemID+"/", &seen)
		if len(seen.Interfaces) != 1 || seen.Interfaces[0].MAC != want {
			t.Errorf("want the MAC %s, got %+v", want, seen)
		}
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	hasMAC("52:54:00:12:34:56")
	w.wantEmptyPlan(t)
	w.configure(t, on(""))
	w.run(t, "apply", "-auto-approve", "-no-color")
	hasMAC("52:54:00:12:34:56")
	w.wantEmptyPlan(t)
	w.configure(t, on(`, bridge = "br7"`))
	w.wantRefusedPlan(t, `no bridge on host kvm1 "br7" Known: br0`)
	w.configure(t, on(`, mac_address = "52:54:00:12:34:57"`))
	if got := strings.Join(w.planActions(t), ","); got != "delete,create" {
		t.Errorf("the plan of another MAC wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	hasMAC("52:54:00:12:34:57")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneInstanceRefused names the option or device that a VM cannot have,
// and changes nothing.
func TestAccGoneInstanceRefused(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	host := hostOnNode1()
	w := newWorkspace(t, x.configReachingLXD(host))
	w.run(t, "apply", "-auto-approve", "-no-color")
	cases := map[string]struct{ reason, bad, at, want string }{
		"Typo":       {"LXD would refuse a misspelled option in the middle of an apply.", `config = { "boot.autostrat" = "true" }`, "config", `A VM cannot be given "boot.autostrat" boot.autostart An LXD profile may set others`},
		"Memory":     {"The memory has an attribute of its own.", `config = { "limits.memory" = "8GiB" }`, "config", `A VM cannot be given "limits.memory": it is set by memory_mib`},
		"CloudInit":  {"MAAS gives the guest its user-data.", `config = { "cloud-init.user-data" = "#cloud-config" }`, "config", `MAAS installs the VM deploy.user_data_wo`},
		"Mark":       {"The provider finds its VMs by this mark.", `config = { "user.maaslxd.key" = "o/db" }`, "config", `it is a mark of this program`},
		"Protection": {"MAAS could not delete a VM with this protection.", `config = { "security.protection.delete" = "true" }`, "config", `deletion_protection = true`},
		"Containers": {"LXD has this option only for containers.", `config = { "limits.cpu.priority" = "3" }`, "config", `LXD has it for containers only`},
		"Value":      {"LXD would refuse this value.", `config = { "boot.autostart" = "maybe" }`, "config", `"boot.autostart" is true or false, not "maybe"`},
		"BootMode":   {"This LXD is too old for boot.mode.", `config = { "boot.mode" = "bios" }`, "config", `does not have "boot.mode" Use "security.secureboot" instead`},
		"Disk":       {"Disks have an attribute of their own.", `devices = { scratch = { type = "disk" } }`, "", `devices["scratch"].type "gpu" "pci" "tpm" "usb"`},
		"DeviceName": {"The name belongs to a NIC of the VM.", `devices = { eth0 = { type = "tpm" } }`, "devices", `"eth0" is the name of a disk or an interface`},
		"Property":   {"LXD would refuse a misspelled property.", `devices = { card = { type = "gpu", properties = { adress = "x" } } }`, "", `A gpu device of a VM has no property "adress" It has: gputype, id`},
		"Address":    {"LXD needs the address of a PCI device.", `devices = { card = { type = "pci" } }`, "", `A pci device needs its address`},
	}
	for name, tc := range cases {
		t.Log(name, tc.reason)
		w.configure(t, x.configReachingLXD(host+vmOnTestHost("web", tc.bad)))
		w.wantRefusedChange(t, x, tc.at, tc.want)
	}
	w.configure(t, x.configReachingLXD(host))
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccInstanceOnMAAS: MAAS gives its VMs no options and no devices. The plan
// says so, and no VM is destroyed.
func TestAccInstanceOnMAAS(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	const config, devices = `config = { "user.team" = "billing" }`, `devices = { tpm0 = { type = "tpm" } }`
	w := newWorkspace(t, x.config(x.vm("web", config)))
	refused := func(doing, what, at string, instances int) {
		t.Helper()
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Run(); err == nil {
			t.Fatalf("it was done:\n%s", out)
		}
		text := unwrapMessage(out.String())
		if want := "Cannot " + doing + ` VM web a VM that MAAS composes cannot be given ` + what + ` composer = "lxd"`; !wordsPattern(want).MatchString(text) || strings.Count(text, "Error: ") != 1 {
			t.Errorf("want one error, with the words %q, in:\n%s", want, out)
		}
		if !strings.Contains(shownConfigLines(out.String()), at+" =") {
			t.Errorf("want the CLI to point at %s:\n%s", at, out)
		}
		if n := len(x.instances()); n != instances {
			t.Errorf("there are %d instances, and not %d", n, instances)
		}
	}
	refused("create", "instance options", "config", 0)
	w.configure(t, x.config(x.vm("web", devices)))
	refused("create", "devices", "devices", 0)
	w.configure(t, x.config(x.vm("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(x.vm("web", config)))
	refused("change", "instance options", "config", 1)
	w.configure(t, x.config(x.vm("web")))
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
