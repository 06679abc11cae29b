package acctest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// shellBlocks are the shell blocks of a page.
var shellBlocks = regexp.MustCompile("(?s)```sh\n(.*?)```")

// runGuideBlock runs a shell block of the guide to keys in a folder: the one that
// begins with a comment of that title.
func runGuideBlock(t *testing.T, folder, title string) string {
	t.Helper()
	return runShell(t, keysGuide, folder, title)
}

// runShell runs the shell block of a guide that begins with a comment of that title.
func runShell(t *testing.T, guide, folder, title string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", blockOf(t, guide, shellBlocks, title))
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", title, err, out)
	}
	return string(out)
}

// needsOpenSSL skips the test where openssl is missing.
func needsOpenSSL(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed, whose commands the guide to keys shows")
	}
}

// TestGuidesSteerSimulator runs the commands that the guides give for the simulator: an LXD server
// trusts the next pair, and MAAS is upgraded.
func TestGuidesSteerSimulator(t *testing.T) {
	t.Parallel()
	needsOpenSSL(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed, by which the guides steer the simulator")
	}
	folder := t.TempDir()
	s := sim.StartServer(t, sim.Model{LXDListen: sim.LXDListenPorts, Hosts: []sim.HostModel{{Name: "node1", Cores: 8, MemoryMiB: 16384}}})
	run := func(guide, title string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", blockOf(t, guide, shellBlocks, title))
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "MAAS_API_URL="+s.URL)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", title, err, out)
		}
	}
	runGuideBlock(t, folder, nextPair)
	next, err := fleetkey.LoadFile(filepath.Join(folder, fleetkey.NextKeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	run(keysGuide, "Tell an LXD server of the simulator")
	trusted := s.LXDs()[0].Trusted
	if !slices.ContainsFunc(trusted, func(c sim.TrustedCertificate) bool {
		fingerprint, err := fleetkey.Fingerprint(c.Certificate)
		return err == nil && fingerprint == next.Fingerprint
	}) {
		t.Errorf("the LXD server trusts %v, want %s among them", trusted, next.Fingerprint)
	}
	run("moving-off-vm-hosts", "Upgrade the MAAS of the simulator")
	const want = "this MAAS has no VM hosts any more"
	if err := s.Upgrade(); err == nil || err.Error() != want {
		t.Errorf("a second upgrade says %v, want %q", err, want)
	}
}

// The blocks of the guide to keys that are run here.
const (
	nextPair  = "Make the next pair"
	showPair  = "When does the pair expire?"
	swapPairs = "Put the next pair in the place of the current one"
	backPairs = "Put the former pair back"
)

// TestOperationsNextPair makes a pair as the page says. The provider accepts it
// and nobody else can read it. An existing pair is not overwritten.
func TestOperationsNextPair(t *testing.T) {
	t.Parallel()
	needsOpenSSL(t)
	folder := t.TempDir()
	runGuideBlock(t, folder, nextPair)
	path := filepath.Join(folder, fleetkey.NextKeyFile)
	key, err := fleetkey.LoadFile(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if years := time.Until(key.NotAfter).Hours() / 24 / 365; years < 9.9 || years > 10.1 {
		t.Errorf("it lasts %.1f years", years)
	}
	public, err := os.ReadFile(filepath.Join(folder, "lxd-client-next.crt"))
	if err != nil || strings.Contains(string(public), "PRIVATE") {
		t.Errorf("want the certificate alone for the hosts, got %v:\n%s", err, public)
	}
	if f, err := fleetkey.Fingerprint(string(public)); err != nil || f != key.Fingerprint {
		t.Errorf("the hosts get %s, %v; the pair is %s", f, err, key.Fingerprint)
	}
	runGuideBlock(t, folder, nextPair)
	if again, err := fleetkey.LoadFile(path, time.Now()); err != nil || again.Fingerprint != key.Fingerprint {
		t.Errorf("the second time it is %s, %v", again.Fingerprint, err)
	}
	runGuideBlock(t, folder, swapPairs)
	runGuideBlock(t, folder, swapPairs) // moves nothing
	said := runGuideBlock(t, folder, showPair)
	if !strings.Contains(strings.ToLower(strings.ReplaceAll(said, ":", "")), key.Fingerprint) || !strings.Contains(said, "notAfter=") {
		t.Errorf("want fingerprint and end, got %s", said)
	}
	keepsFormerPair(t, folder, key.Fingerprint)
}

// keepsFormerPair changes a pair twice: the second change moves nothing while the former pair
// is there.
func keepsFormerPair(t *testing.T, folder, former string) {
	t.Helper()
	for range 2 {
		runGuideBlock(t, folder, nextPair)
		runGuideBlock(t, folder, swapPairs)
	}
	key, err := fleetkey.LoadFile(filepath.Join(folder, "lxd-client-former.pem"), time.Now())
	if err != nil || key.Fingerprint != former {
		t.Errorf("the former pair is %s, %v, want %s", key.Fingerprint, err, former)
	}
}

// TestOperationsPairBack puts the former pair back twice, as the page says. The second time moves
// nothing, and both pairs are still there. A next pair that exists is not overwritten.
func TestOperationsPairBack(t *testing.T) {
	t.Parallel()
	needsOpenSSL(t)
	folder := t.TempDir()
	fingerprint := func(name string) string {
		t.Helper()
		key, err := fleetkey.LoadFile(filepath.Join(folder, name), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return key.Fingerprint
	}
	runGuideBlock(t, folder, nextPair)
	runGuideBlock(t, folder, swapPairs)
	former := fingerprint(fleetkey.KeyFile)
	runGuideBlock(t, folder, nextPair)
	next := fingerprint(fleetkey.NextKeyFile)
	runGuideBlock(t, folder, swapPairs)
	runGuideBlock(t, folder, nextPair)
	other := fingerprint(fleetkey.NextKeyFile)
	wantNothingMoved := func() {
		t.Helper()
		if said := runGuideBlock(t, folder, backPairs); said != "nothing was moved\n" {
			t.Errorf("it says %q", said)
		}
	}
	wantNothingMoved()
	if a, b, c := fingerprint("lxd-client-former.pem"), fingerprint(fleetkey.KeyFile), fingerprint(fleetkey.NextKeyFile); a != former || b != next || c != other {
		t.Errorf("the former, current and next pair are %s, %s and %s, want %s, %s and %s", a, b, c, former, next, other)
	}
	if err := os.Remove(filepath.Join(folder, fleetkey.NextKeyFile)); err != nil {
		t.Fatal(err)
	}
	if said := runGuideBlock(t, folder, backPairs); said != "" {
		t.Errorf("it says %q", said)
	}
	wantNothingMoved()
	if a, b := fingerprint(fleetkey.KeyFile), fingerprint(fleetkey.NextKeyFile); a != former || b != next {
		t.Errorf("the current and next pair are %s and %s, want %s and %s", a, b, former, next)
	}
}

// hostTrusting is a host that declares that it trusts the certificate in a
// file.
func hostTrusting(certificate string, attributes ...string) string {
	return hostOnNode1(append(attributes, fmt.Sprintf("lxd = { trusted_certificates = [file(%q)] }", certificate))...)
}

// TestAccOperationsRotate changes a fleet's key as the page says: for an
// existing host, and for one that is made meanwhile.
func TestAccOperationsRotate(t *testing.T) {
	t.Parallel()
	needsOpenSSL(t)
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configWithProbe("direct", hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.findMachine(t, "node1").OwnerData["maaslxd-fingerprint"]
	runGuideBlock(t, x.folder, nextPair)
	certificate := filepath.Join(x.folder, "lxd-client-next.crt")

	second := strings.NewReplacer(`"test"`, `"second"`, "kvm1", "kvm2", "node1", "node2").Replace(hostOnNode1())
	w.configure(t, x.configWithProbe("direct", hostTrusting(certificate)+second))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !wordsPattern("You must tell VM host kvm1 itself lxc config trust add").MatchString(out) {
		t.Errorf("want a warning that says what to do on the host, got:\n%s", out)
	}
	runGuideBlock(t, x.folder, swapPairs)
	w.wantFailure(t, "The first host was not told.", []string{"does not trust the client certificate", "lxc config trust add"}, "apply", "-auto-approve", "-no-color")
	if got := x.findMachine(t, "node2").OwnerData["maaslxd-fingerprint"]; got == before {
		t.Error("the second host, which was made to trust both, has not changed")
	}
	x.makeLXDTrustFile(t, "node1", certificate)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.configWithProbe("direct", hostOnNode1()+second))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	for _, name := range []string{"node1", "node2"} {
		if after := x.findMachine(t, name).OwnerData["maaslxd-fingerprint"]; after == before || after == "" {
			t.Errorf("the fingerprint of %s is %q, and was %s", name, after, before)
		}
	}
	handed := 0
	for _, c := range x.simulatorOrSkip().Journal().Calls {
		if c.Route == "PUT vm-hosts/{id}/" && len(c.Form["certificate"]) > 0 {
			handed++
		}
	}
	if want := map[bool]int{false: 2, true: 0}[isLXDColumn()]; handed != want { // where MAAS has VM hosts
		t.Errorf("MAAS was given the next pair %d times, want %d: once for each host", handed, want)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// makeLXDTrustFile makes an LXD trust the certificate in a file, as an operator
// would.
func (x *metalTarget) makeLXDTrustFile(t *testing.T, lxd, path string) {
	t.Helper()
	certificate, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.simulatorOrSkip().TrustCertificate(lxd, string(certificate)); err != nil {
		t.Fatal(err)
	}
}

// TestAccOperationsKeyLost: the pair is lost. A new pair, which the operator
// adds to the host, replaces it.
func TestAccOperationsKeyLost(t *testing.T) {
	t.Parallel()
	needsOpenSSL(t)
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configWithProbe("direct", hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if err := os.Remove(x.keyFile()); err != nil {
		t.Fatal(err)
	}
	runGuideBlock(t, x.folder, nextPair)
	certificate := filepath.Join(x.folder, "lxd-client-next.crt")
	runGuideBlock(t, x.folder, swapPairs)
	x.makeLXDTrustFile(t, "node1", certificate)
	w.configure(t, x.configWithProbe("direct", hostOnNode1(`zone = "az2"`)))
	w.wantFailure(t, "Nobody has said that the host trusts it.", []string{"LXD client certificate at hand is", "trusted_certificates"}, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.configWithProbe("direct", hostTrusting(certificate, `zone = "az2"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccOperationsUnfinished: the pair was changed while a host was being
// made. The apply goes on when the former certificate is listed, or the former
// pair is back.
func TestAccOperationsUnfinished(t *testing.T) {
	t.Parallel()
	needsOpenSSL(t)
	for _, back := range []bool{true, false} {
		t.Run(fmt.Sprintf("PairBack=%t", back), func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, listenOnLoopback, func(m *sim.Model) { m.Latency.Deploy = 12 * time.Second })
			w := newWorkspace(t, x.configWithProbe("direct", hostOnNode1(createWithin6s)))
			runGuideBlock(t, x.folder, nextPair)
			w.run(t, "apply", "-auto-approve", "-no-color") // this no longer waits
			former := x.findMachine(t, "node1").OwnerData["maaslxd-fingerprint"]
			runGuideBlock(t, x.folder, swapPairs)
			w.wantFailure(t, "It was deployed with the former pair.", []string{"was deployed to trust the client certificate", former}, "apply", "-auto-approve", "-no-color")
			if back {
				runGuideBlock(t, x.folder, backPairs)
			} else {
				runGuideBlock(t, x.folder, "The certificate of the former pair")
				w.configure(t, x.configWithProbe("direct", hostTrusting(filepath.Join(x.folder, "lxd-client-former.crt"), createWithin6s)))
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			if got := w.status(t); got != "Deployed" {
				t.Errorf("it is %s", got)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}
