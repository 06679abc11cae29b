package sim_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// armHost is a world with one arm64 VM host and an image for both architectures.
func armHost() sim.Model {
	m := oneHost()
	m.Hosts[0].Architecture = "arm64/generic"
	m.ImageArchitectures = map[string][]string{"ubuntu/jammy": {"amd64", "arm64"}}
	return m
}

// TestHostArchitecture: an arm64 VM host makes arm64 VMs only, and MAAS installs on them only
// what it imported for arm64.
func TestHostArchitecture(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, armHost())
	host := c.mustCall("GET", "vm-hosts/1/")
	if diff := cmp.Diff([]any{"arm64/generic"}, host["architectures"]); diff != "" {
		t.Errorf("the VM host's architectures (-want +got):\n%s", diff)
	}
	machine := host["host"].(map[string]any)["system_id"].(string)
	if v := c.readMachine(machine); v["architecture"] != "arm64/generic" {
		t.Errorf("the VM host's machine is %v", v["architecture"])
	}
	wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose", "hostname=web", "architecture=amd64/generic"), 400, "architecture")
	id := c.composeReady("web")
	if v := c.readMachine(id); v["architecture"] != "arm64/generic" {
		t.Errorf("the VM is %v", v["architecture"])
	}
	c.mustCall("POST", "machines/?op=allocate", "system_id="+id)
	wantStatus(t, c.call("POST", "machines/"+id+"/?op=deploy", "distro_series=noble"), 400, "noble has no kernels available.")
	wantStatus(t, c.call("POST", "machines/"+id+"/?op=deploy", "distro_series=jammy"), 200, "")
}

// TestMachineArchitecture: a machine can have an architecture only if MAAS has an image for it.
func TestMachineArchitecture(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, armHost())
	enlist := []string{"hostname=iron", "power_type=manual", "commission=false", "mac_addresses=00:16:3e:00:00:01"}
	wantStatus(t, c.call("POST", "machines/", append(enlist, "architecture=s390x")...), 400, "It should be one of: 'amd64/generic', 'arm64/generic'.")
	made := c.mustCall("POST", "machines/", append(enlist, "architecture=arm64")...)
	if made["architecture"] != "arm64/generic" {
		t.Errorf("the machine is %v", made["architecture"])
	}
	id := made["system_id"].(string)
	wantStatus(t, c.call("PUT", "machines/"+id+"/", "architecture=riscv64/generic"), 400, "is not a valid architecture")
	if v := c.mustCall("PUT", "machines/"+id+"/", "architecture=amd64/generic"); v["architecture"] != "amd64/generic" {
		t.Errorf("the machine is %v after the update", v["architecture"])
	}
}

// TestLXDArchitecture: LXD lists the architecture of its VMs first, and makes no instance of
// one that its processor lacks.
func TestLXDArchitecture(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	m := armHost()
	m.Hosts[0].TrustedCertificates = []string{pair.certificate}
	maas := newMAASClient(t, m)
	c := dialLXD(t, maas.sim, pair)
	defer c.Disconnect()
	server, _, err := c.GetServer()
	if err != nil {
		t.Fatal(err)
	}
	if got := server.Environment; got.KernelArchitecture != "aarch64" || got.Architectures[0] != "aarch64" {
		t.Errorf("LXD says %s, %v", got.KernelArchitecture, got.Architectures)
	}
	wrong, right := newVM("wrong"), newVM("right")
	wrong.Architecture, right.Architecture = "x86_64", "aarch64"
	if err := waitForLXD(c.CreateInstance(wrong)); err == nil || !strings.Contains(err.Error(), "isn't supported by this host") {
		t.Errorf("x86_64: got %v", err)
	}
	if err := waitForLXD(c.CreateInstance(right)); err != nil {
		t.Fatal(err)
	}
	made, _, err := c.GetInstance("right")
	if err != nil || made.Architecture != "aarch64" {
		t.Errorf("the VM is %+v, %v", made, err)
	}
}
