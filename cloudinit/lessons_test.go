package cloudinit_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestTrustPasswordIsNoHashOfAPublicUID: there is no trust password that anyone could
// guess. LXD trusts only certificates, whatever the settings are.
func TestTrustPasswordIsNoHashOfAPublicUID(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`(?i)trust[_ .-]?(password|token)|password:|--password`)
	for name, h := range goldenHosts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range splitMultipart(t, renderHost(t, h)) {
				if found := secret.FindString(p.Body); found != "" {
					t.Errorf("%s has %q", p.Name, found)
				}
			}
			preseed, err := h.Preseed()
			if err != nil {
				t.Fatal(err)
			}
			for key := range preseed.Node.Config {
				if secret.MatchString(key) {
					t.Errorf("the preseed sets %s", key)
				}
			}
		})
	}
}

// TestSnapIsNotRestartedUnderRunningVMs: on a node that runs VMs, nothing that is installed
// stops or restarts LXD.
func TestSnapIsNotRestartedUnderRunningVMs(t *testing.T) {
	t.Parallel()
	ends := regexp.MustCompile(`(?m)^[^#\n]*(snap +(restart|stop|remove|disable|revert)|systemctl +(\S+ +)*(restart|try-restart|stop|kill|reload)|lxd +shutdown|pkill|killall|reboot)\b`)
	for name, h := range goldenHosts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range splitMultipart(t, renderHost(t, h)) {
				if found := ends.FindString(p.Body); found != "" {
					t.Errorf("%s has %q", p.Name, found)
				}
			}
			m := newFakeMachine(t, h)
			m.presetLXD("6/stable") // another channel than is wanted
			m.writeFile("state/api/instances_recursion_1_all-projects_true", `[ { "name": "v1", "status": "Running" } ]`)
			m.wantSuccess(m.runInstallUnit())
			m.applyPreseed()
			m.runHostScript() // it may miss what other hosts have: what it did is judged
			for line := range strings.Lines(m.readFile("state/log")) {
				if strings.HasPrefix(line, "snap ") && !strings.HasPrefix(line, "snap list ") && !strings.HasPrefix(line, "snap wait ") {
					t.Errorf("it ran %s", line)
				}
			}
		})
	}
}
