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

// TestAccHostKeyRotated changes the key of a host that runs: noted first, then
// taken.
func TestAccHostKeyRotated(t *testing.T) {
	t.Parallel()
	x := newMetal(t)
	vm := ""
	if onLXD() {
		vm = guest("web")
	}
	x.rotates(t, func(body string) string { return x.config(body) }, vm)
}

// TestAccGoneRotated changes the key of a host with a VM that runs, of which MAAS
// has the key, too.
func TestAccGoneRotated(t *testing.T) {
	t.Parallel()
	x := newGone(t)
	x.rotates(t, func(body string) string { return x.reaching(body) }, guest("web", x.deploy()))
}

// rotates changes the key of node1 with a VM, or with none, until nothing is
// left of the former one.
func (x *metalTarget) rotates(t *testing.T, config func(body string) string, vm string) {
	t.Helper()
	w := newWorkspace(t, config(node1()+vm))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.machine(t, "node1").OwnerData["maaslxd-fingerprint"]
	former, next := x.pairIn(t, x.keyFile()), x.pairIn(t, filepath.Join(x.folder, "next.pem"))
	if err := x.inside().TrustCertificate("node1", next.Certificate); err != nil {
		t.Fatal(err)
	}
	w.configure(t, config(node1(fmt.Sprintf("lxd = { trusted_certificates = [%q] }", next.Certificate))+vm))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !words("must be told itself lxc config trust add").MatchString(out) {
		t.Errorf("want a warning that says what to do on the host, got:\n%s", out)
	}
	if handed := x.handed(); handed != 0 {
		t.Errorf("MAAS was given a pair %d times before it changed", handed)
	}
	if err := os.Rename(filepath.Join(x.folder, "next.pem"), x.keyFile()); err != nil {
		t.Fatal(err)
	}
	w.configure(t, config(node1()+vm))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if after := x.machine(t, "node1").OwnerData["maaslxd-fingerprint"]; after == before || after != next.Fingerprint {
		t.Errorf("the fingerprint is %s, and was %s", after, before)
	}
	if handed := x.handed(); handed != 1 { // with its VM host, where it has one, else with the VM
		t.Errorf("MAAS was given the next pair %d times, want once", handed)
	}
	if err := x.inside().DistrustCertificate("node1", former.Certificate); err != nil {
		t.Fatal(err)
	}
	if vm != "" {
		power := string(x.call(t, "GET", "machines/"+x.machine(t, "web").SystemID+"/?op=query_power_state", ""))
		if !strings.Contains(power, `"on"`) && !strings.Contains(power, `"off"`) {
			t.Errorf("with the former pair distrusted, MAAS says of the VM's power: %s", power)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// pairIn is the pair in a file, which is made.
func (x *metalTarget) pairIn(t *testing.T, path string) fleetkey.Key {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// handed counts how often MAAS was given another pair for what it has already.
func (x *metalTarget) handed() (times int) {
	for _, c := range x.inside().Journal().Calls {
		if strings.HasPrefix(c.Route, "PUT ") && len(c.Form["certificate"])+len(c.Form["power_parameters_certificate"]) > 0 {
			times++
		}
	}
	return times
}
