package acctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// TestAccHostKeyRotated changes the key of a running host: first the host
// trusts it, then the provider uses it.
func TestAccHostKeyRotated(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	vm := ""
	if isLXDColumn() {
		vm = vmOnTestHost("web")
	}
	x.rotateKey(t, func(body string) string { return x.config(body) }, vm)
}

// TestAccGoneRotated changes the key of a host with a running VM. MAAS has the
// key for the VM, too.
func TestAccGoneRotated(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	x.rotateKey(t, func(body string) string { return x.configReachingLXD(body) }, vmOnTestHost("web", x.deploy()))
}

// rotateKey changes the key of node1, with or without a VM, until nothing uses
// the former one.
func (x *metalTarget) rotateKey(t *testing.T, config func(body string) string, vm string) {
	t.Helper()
	w := newWorkspace(t, config(hostOnNode1()+vm))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.findMachine(t, "node1").OwnerData["maaslxd-fingerprint"]
	former, next := x.loadKeyPair(t, x.keyFile()), x.loadKeyPair(t, filepath.Join(x.folder, "next.pem"))
	if err := x.simulatorOrSkip().TrustCertificate("node1", next.Certificate); err != nil {
		t.Fatal(err)
	}
	w.configure(t, config(hostOnNode1(fmt.Sprintf("lxd = { trusted_certificates = [%q] }", next.Certificate))+vm))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !wordsPattern("You must tell VM host kvm1 itself lxc config trust add").MatchString(out) {
		t.Errorf("want a warning that says what to do on the host, got:\n%s", out)
	}
	if handed := x.countKeyPairUpdates(); handed != 0 {
		t.Errorf("MAAS was given a pair %d times before it changed", handed)
	}
	if err := os.Rename(filepath.Join(x.folder, "next.pem"), x.keyFile()); err != nil {
		t.Fatal(err)
	}
	w.configure(t, config(hostOnNode1()+vm))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if after := x.findMachine(t, "node1").OwnerData["maaslxd-fingerprint"]; after == before || after != next.Fingerprint {
		t.Errorf("the fingerprint is %s, and was %s", after, before)
	}
	if handed := x.countKeyPairUpdates(); handed != 1 { // once, for the VM host where there is one, else for the VM
		t.Errorf("MAAS was given the next pair %d times, want once", handed)
	}
	if err := x.simulatorOrSkip().DistrustCertificate("node1", former.Certificate); err != nil {
		t.Fatal(err)
	}
	if vm != "" {
		power := string(x.callMAAS(t, "GET", "machines/"+x.findMachine(t, "web").SystemID+"/?op=query_power_state", ""))
		if !strings.Contains(power, `"on"`) && !strings.Contains(power, `"off"`) {
			t.Errorf("with the former pair distrusted, MAAS says of the VM's power: %s", power)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// loadKeyPair loads the pair in a file, and makes the file if it is missing.
func (x *metalTarget) loadKeyPair(t *testing.T, path string) fleetkey.Key {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// countKeyPairUpdates counts how often MAAS got another pair for an existing
// object.
func (x *metalTarget) countKeyPairUpdates() (times int) {
	for _, c := range x.simulatorOrSkip().Journal().Calls {
		if strings.HasPrefix(c.Route, "PUT ") && len(c.Form["certificate"])+len(c.Form["power_parameters_certificate"]) > 0 {
			times++
		}
	}
	return times
}
