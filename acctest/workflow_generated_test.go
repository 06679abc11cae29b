package acctest_test

import (
	"regexp"
	"testing"
)

// withoutLine is a text without the line that sets an attribute.
func withoutLine(text, attribute string) string {
	return regexp.MustCompile(`(?m)^\s*`+attribute+`\s*=.*\n`).ReplaceAllString(text, "")
}

// TestAccWorkflowGeneratedHost replaces an imported VM host whose configuration names the certificate
// of its LXD server, as a CLI before 1.14 generates it. The new LXD server has another certificate. So
// the plan refuses before it releases the machine. Without the line it succeeds.
func TestAccWorkflowGeneratedHost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	made := newWorkspace(t, x.configWithProbe("auto", hostOnNode1()))
	made.run(t, "apply", "-auto-approve", "-no-color")
	shown := x.shownFingerprint(t, "node1")
	w, generated := importWithGeneratedConfig(t, x.configWithProbe("auto", ""), hostAddress, "kvm1")
	pinned := withoutLine(generated, "server_fingerprint")
	pinned = regexp.MustCompile(`(?m)^(\s*)name(\s*)= "kvm1"`).ReplaceAllString(pinned, "${0}\n  server_fingerprint = \""+shown+"\"")
	w.configure(t, x.configWithProbe("auto", ""))
	w.writeFile(t, "generated.tf", pinned)
	w.wantEmptyPlan(t)
	refused := `Cannot replace VM host kvm1 server_fingerprint: the machine is deployed again, and its new LXD server does not have the certificate ` + shown + ` Remove server_fingerprint before VM host kvm1 is destroyed`
	w.wantCommandFailure(t, refused, "plan", "-no-color", "-replace="+hostAddress)
	w.writeFile(t, "generated.tf", regexp.MustCompile(`"ubuntu/noble"`).ReplaceAllString(pinned, `"ubuntu/jammy"`))
	w.wantRefusedPlan(t, refused)
	w.writeFile(t, "generated.tf", pinned)
	w.run(t, "taint", hostAddress)
	w.wantRefusedPlan(t, `server_fingerprint: the machine is deployed again`)
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
		t.Errorf("it is %s", m.StatusName)
	}
	w.writeFile(t, "generated.tf", withoutLine(pinned, "server_fingerprint"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowGeneratedVM replaces an imported VM whose configuration names the MAC address that
// MAAS chose, as a CLI before 1.14 generates it. The plan refuses before it destroys the VM.
// Without the line it succeeds.
func TestAccWorkflowGeneratedVM(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	made := newWorkspace(t, x.config(x.vm("web", `interfaces = { eth0 = { subnet = "lan" } }`, x.deploy())))
	made.run(t, "apply", "-auto-approve", "-no-color")
	before := x.findMachine(t, "web")
	w, generated := importWithGeneratedConfig(t, x.config(""), vmAddress, "web")
	pinned := regexp.MustCompile(`(?m)^(\s*)subnet(\s*)=.*$`).ReplaceAllString(withoutLine(generated, "mac_address"), "${0}\n      mac_address = \""+x.instanceMACs(t, "web")[0]+"\"")
	w.configure(t, x.config(""))
	w.writeFile(t, "generated.tf", pinned)
	w.wantEmptyPlan(t)
	refused := `Cannot replace VM web mac_address: a VM that MAAS composes cannot be given a MAC address before VM web is destroyed`
	w.wantCommandFailure(t, refused, "plan", "-no-color", "-replace="+vmAddress)
	w.writeFile(t, "generated.tf", regexp.MustCompile(`cores(\s*)= \d+`).ReplaceAllString(pinned, "cores = 3"))
	w.wantRefusedPlan(t, refused)
	w.writeFile(t, "generated.tf", pinned)
	w.run(t, "taint", vmAddress)
	w.wantRefusedPlan(t, `mac_address: a VM that MAAS composes cannot be given a MAC address`)
	if m := x.findMachine(t, "web"); m.SystemID != before.SystemID {
		t.Errorf("it is %s, and was %s", m.SystemID, before.SystemID)
	}
	w.writeFile(t, "generated.tf", withoutLine(pinned, "mac_address"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
