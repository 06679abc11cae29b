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

// newCIRunner is a throw-away CI runner. Nothing of its home is kept, and
// another place has the state. Each has a folder of its own for ledger and key.
func (w workspace) newCIRunner(t *testing.T, ci bool) workspace {
	t.Helper()
	w.env = append(w.env[:len(w.env):len(w.env)], "XDG_STATE_HOME="+t.TempDir(), "MAASLXD_LEDGER=")
	if ci {
		w.env = append(w.env, "CI=true", "TF_IN_AUTOMATION=1")
	}
	return w
}

// TestAccWorkflowCIRunner applies one configuration on one throw-away runner
// after the other. Without a lasting key pair nothing may begin that the next
// runner could not finish.
func TestAccWorkflowCIRunner(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	config := func(settings string, more ...string) string {
		probe := `probe = "maas"`
		if isLXDColumn() {
			probe = `probe = "direct"`
		}
		return x.configWith("poll_interval = \"50ms\"\n  "+probe+"\n  "+settings, hostOnNode1(more...))
	}
	second := `
resource "maaslxd_vm_host" "second" {
  name    = "kvm2"
  machine = "node2"
  deploy  = { image = "ubuntu/noble" }
}
`
	w := newWorkspace(t, config(""))
	fails := func(w workspace, want string) {
		t.Helper()
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Run(); err == nil || !wordsPattern(want).MatchString(unwrapMessage(out.String())) {
			t.Errorf("want an error with %q, got %v:\n%s", want, err, out)
		}
	}
	fails(w.newCIRunner(t, true), `none is made where CI is set lxd_client_cert ci-runners.md#the-key-pair-in-ci`)
	if m := x.findMachine(t, "node1"); m.StatusName != "Ready" {
		t.Errorf("it began: %+v", m)
	}

	workstation := w.newCIRunner(t, false)
	workstation.run(t, "apply", "-auto-approve", "-no-color")

	// A fresh runner can do what only needs MAAS.
	w.configure(t, config("", `tags = ["x"]`))
	if !isLXDColumn() { // where this needs the LXD
		out := w.newCIRunner(t, true).run(t, "apply", "-auto-approve", "-no-color")
		if !wordsPattern(`fleet's key pair is not here kvm1 trusts the certificate but the file lxd-client.pem does not exist`).MatchString(unwrapMessage(out)) {
			t.Errorf("want the plan to tell of the key, got:\n%s", out)
		}
		w.newCIRunner(t, true).run(t, "plan", "-detailed-exitcode", "-no-color")
	}

	// It makes no second pair, whether or not it knows that it is a runner.
	w.configure(t, config("", `tags = ["x"]`)+second)
	fails(w.newCIRunner(t, true), `none is made where CI is set`)
	fails(w.newCIRunner(t, false), `kvm1 trusts the certificate a new pair would split the fleet`)
	if m := x.findMachine(t, "node2"); m.StatusName != "Ready" || m.Owner != "" {
		t.Errorf("it began: %+v", m)
	}

	// A pair of another fleet is told, as when two secrets are mixed up.
	stranger, err := fleetkey.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.configure(t, config(fmt.Sprintf("lxd_client_cert = %q\n  lxd_client_key = %q", stranger.Certificate, stranger.Key), `tags = ["x"]`)+second)
	if out := unwrapMessage(w.newCIRunner(t, true).run(t, "plan", "-no-color")); !wordsPattern("Warning: The VM hosts of this MAAS trust another key pair node1 trusts the certificate the pair at hand is " + stranger.Fingerprint).MatchString(out) {
		t.Errorf("want a warning of the other pair, got:\n%s", out)
	}

	// With the pair given, everything works.
	pair := keyPairSettings(t, workstation)
	w.configure(t, config(pair, `tags = ["y"]`)+second)
	w.newCIRunner(t, true).run(t, "apply", "-auto-approve", "-no-color")
	w.newCIRunner(t, true).run(t, "plan", "-detailed-exitcode", "-no-color")
	w.newCIRunner(t, true).run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// keyPairSettings are the settings with the pair that a workspace has made.
func keyPairSettings(t *testing.T, w workspace) string {
	t.Helper()
	var home string
	for _, entry := range w.env {
		if value, ok := strings.CutPrefix(entry, "XDG_STATE_HOME="); ok {
			home = value
		}
	}
	pair, err := os.ReadFile(filepath.Join(home, "maaslxd", "lxd-client.pem"))
	if err != nil {
		t.Fatal(err)
	}
	const end = "-----END CERTIFICATE-----\n"
	certificate, private, _ := strings.Cut(string(pair), end)
	return fmt.Sprintf("lxd_client_cert = %q\n  lxd_client_key = %q", certificate+end, private)
}

// TestAccWorkflowKeyOfOthers puts a key pair where other users could have put
// it. The provider refuses it.
func TestAccWorkflowKeyOfOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	for title, tc := range map[string]struct {
		plant func(t *testing.T, x *metalTarget) error
		want  string
	}{
		"Owner":  {func(_ *testing.T, x *metalTarget) error { return os.Chown(x.keyFile(), 65534, 65534) }, `belongs to another user`},
		"Folder": {func(_ *testing.T, x *metalTarget) error { return os.Chmod(x.folder, 0o777) }, `lies in a folder in which other users may make files`},
		"Sticky": {func(_ *testing.T, x *metalTarget) error { return os.Chmod(x.folder, 0o777|os.ModeSticky) }, `lies in a folder in which other users may make files`},
		"Next": {func(t *testing.T, x *metalTarget) error {
			next := filepath.Join(x.folder, "lxd-client-next.pem")
			if err := os.Rename(x.keyFile(), next); err != nil {
				return err
			}
			return os.Chown(next, 65534, 65534)
		}, `belongs to another user`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			x.makeLXDTrustNewKey(t, "stray") // it makes the pair
			if err := tc.plant(t, x); err != nil {
				t.Fatal(err)
			}
			w := newWorkspace(t, x.config(hostOnNode1()))
			cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
			if err := cmd.Run(); err == nil || !wordsPattern(tc.want).MatchString(unwrapMessage(out.String())) {
				t.Errorf("want it refused, got %v:\n%s", err, out)
			}
			if m := x.findMachine(t, "node1"); m.StatusName != "Ready" {
				t.Errorf("it began: %+v", m)
			}
		})
	}
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	x.makeLXDTrustNewKey(t, "stray")
	if err := os.Rename(x.keyFile(), filepath.Join(x.folder, "lxd-client-next.pem")); err != nil {
		t.Fatal(err)
	}
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !wordsPattern(`Warning: New VM hosts trust the next key pair, too`).MatchString(unwrapMessage(out)) {
		t.Errorf("want a warning of the next pair, got:\n%s", out)
	}
}
