package realmaas_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// startListeningLXD starts a simulated MAAS whose LXD listens. The LXD trusts
// the certificate of the returned client.
func startListeningLXD(t *testing.T) (*sim.Server, realmaas.LXD) {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), "key.pem"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m := lentModel()
	m.LXDListen = sim.LXDListenAuto
	m.Hosts[0].TrustedCertificates = []string{key.Certificate}
	s := sim.StartServer(t, m)
	address := s.LXDs()[0].Address
	return s, realmaas.LXD{Address: "https://" + address, Certificate: key.Certificate, Key: key.Credentials.Key}
}

// TestPinLXD talks only to the LXD that was seen first or named, because the suite
// deletes instances there.
func TestPinLXD(t *testing.T) {
	t.Parallel()
	s, l := startListeningLXD(t)
	if err := s.AddInstance(sim.Instance{Host: "alpha", Project: "maas", Name: "tf-acc-0001-web"}); err != nil {
		t.Fatal(err)
	}
	pinned, err := l.Pin(t.Context())
	if err != nil || len(pinned.Fingerprint) != 64 {
		t.Fatalf("the fingerprint is %q, %v", pinned.Fingerprint, err)
	}
	if all, err := pinned.Instances(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("with the right fingerprint it lists %v, %v", all, err)
	}
	if again, err := pinned.Pin(t.Context()); err != nil || again != pinned {
		t.Errorf("pinned again it is %+v, %v", again, err)
	}
	if _, err := s.RenewCertificate("alpha"); err != nil {
		t.Fatal(err)
	}
	if removed, err := pinned.Sweep(t.Context(), "tf-acc-"); err == nil || !strings.Contains(err.Error(), pinned.Fingerprint) || len(removed) > 0 {
		t.Errorf("another LXD answers, and a sweep removes %q, %v", removed, err)
	}
	if err := pinned.RemoveVM(t.Context(), "maas", "tf-acc-0001-web"); err == nil {
		t.Error("another LXD answers, and an instance is removed there")
	}
	if n := len(s.Instances()); n != 1 {
		t.Errorf("%d instances are left, want the one that was there", n)
	}
}

// TestBridgeOfAnLXD wants an error where an LXD has no bridge. A bridge without a name
// cannot be put on a machine.
func TestBridgeOfAnLXD(t *testing.T) {
	t.Parallel()
	_, l := startListeningLXD(t)
	if name, err := l.Bridge(t.Context()); (err == nil) != (name != "") {
		t.Errorf("it has the bridge %q, %v", name, err)
	}
	c, _ := openMAAS(t, lentModel())
	if err := c.AddBridge(t.Context(), findMachine(t, c, "node").SystemID, ""); err == nil {
		t.Errorf("a bridge without a name is put on a machine: %v", err)
	}
}

// TestSweepLXD removes the run's instances from an LXD, in each project, and
// leaves an operator's VM "web".
func TestSweepLXD(t *testing.T) {
	t.Parallel()
	const prefix = "tf-acc-0001-"
	s, l := startListeningLXD(t)
	for name, project := range map[string]string{"web": "", "tf-acc-0002-web": "", prefix + "web": "", prefix + "db": "maas"} {
		if err := s.AddInstance(sim.Instance{Host: "alpha", Project: project, Name: name, Cores: 1, MemoryMiB: 1024}); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := l.Sweep(t.Context(), prefix)
	if err != nil || len(removed) != 2 {
		t.Errorf("removed %q, %v", removed, err)
	}
	var left []string
	for _, i := range s.Instances() {
		left = append(left, i.Name)
	}
	slices.Sort(left)
	if want := []string{"tf-acc-0002-web", "web"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	if _, err := l.Sweep(t.Context(), ""); err == nil {
		t.Error("a sweep without a prefix is no error")
	}
}

// TestLXDAway: an LXD that cannot be read is an error that names it. It does
// not count as an LXD without instances.
func TestLXDAway(t *testing.T) {
	t.Parallel()
	s, trusted := startListeningLXD(t)
	if err := s.DistrustCertificate("alpha", trusted.Certificate); err != nil {
		t.Fatal(err)
	}
	nowhere := trusted
	nowhere.Address = "https://127.0.0.1:1"
	for reason, l := range map[string]realmaas.LXD{"Nothing listens there.": nowhere, "It does not trust the certificate.": trusted} {
		if all, err := l.Instances(t.Context()); err == nil || !strings.Contains(err.Error(), l.Address) {
			t.Errorf("%s\nIt has %v, %v", reason, all, err)
		}
		if _, err := l.Sweep(t.Context(), "tf-acc-0001-"); err == nil {
			t.Errorf("%s\nA sweep of it must be an error.", reason)
		}
	}
}
