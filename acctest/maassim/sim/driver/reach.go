package driver

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// RegionTimeout is how long the region waits for the rack to discover or to
// compose (clusterrpc/pods.py: timeout=120).
const RegionTimeout = 120 * time.Second

// SlowDelay is what a slow LXD adds to each of its operations.
const SlowDelay = 3 * time.Second

// ReachLXD returns the LXD of a BMC if it answers and accepts MAAS. Otherwise it returns
// the problem in the words of MAAS's LXD driver. Time may pass meanwhile.
func ReachLXD(w *world.World, b *world.BMC, who string) (*world.LXD, string) {
	l := w.LXDAt(b.Address)
	if l == nil {
		return discoverRealLXD(w, b, who)
	}
	if l.EffectiveCondition() == world.ConditionUnreachable {
		return nil, ConnectionProblem(b)
	}
	switch l.EffectiveCondition() {
	case world.ConditionSlow:
		w.Sleep(SlowDelay)
	case world.ConditionHanging:
		w.Sleep(RegionTimeout)
		return nil, "timed out waiting for the LXD REST API"
	}
	if problem := AdmitMAAS(l, b, who); problem != "" {
		return l, problem
	}
	return l, requirementProblem(l)
}

// minVMVersion is the least version of LXD that MAAS accepts (drivers/pod/lxd.py).
var minVMVersion = daemon.Version{Major: 4, Minor: 16}

// requirementProblem is the message of MAAS's driver about a feature that a reachable LXD
// lacks.
func requirementProblem(l *world.LXD) string {
	switch {
	case !l.IsAtLeast(minVMVersion):
		return "Please upgrade your LXD host to 4.16+ for virtual machine support."
	case len(l.Pools) == 0:
		return "No storage pools exists. Please create a storage pool in LXD."
	}
	return ""
}

// ConnectionProblem is the driver's message where nothing answers.
func ConnectionProblem(b *world.BMC) string {
	id := 0
	if b.Host != nil {
		id = b.Host.ID
	}
	return connectionProblemOf(strconv.Itoa(id), b)
}

// connectionProblemOf is that message for a pod's name.
func connectionProblemOf(pod string, b *world.BMC) string {
	host, port, _ := strings.Cut(world.NormalizeLXDAddress(b.Address), ":")
	return fmt.Sprintf("Pod %s: Failed to connect to the LXD REST API: HTTPSConnectionPool(host='%s', port=%s): Max retries exceeded with url: /1.0?project=%s (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f0000000000>: Failed to establish a new connection: [Errno 111] Connection refused'))",
		pod, host, port, url.QueryEscape(b.Project))
}

// PowerProblem is the driver's message when it cannot read or change the machine's power,
// or empty. The driver calls the machine a pod (drivers/pod/lxd.py, _get_machine).
func PowerProblem(m *world.Machine) string {
	l := m.World.LXDAt(m.BMC.Address)
	if l == nil || l.EffectiveCondition() == world.ConditionUnreachable || l.EffectiveCondition() == world.ConditionHanging {
		return connectionProblemOf(m.SystemID, m.BMC)
	}
	if problem := m.BMC.KeyProblem(); problem != "" {
		return "VM Host " + m.SystemID + ": " + problem
	}
	if problem := AdmitMAAS(l, m.BMC, "VM Host "+m.SystemID+": "); problem != "" {
		return problem
	}
	if m.LXDInstance() == nil {
		return fmt.Sprintf("Pod %s: LXD VM %s not found.", m.SystemID, m.Instance)
	}
	return ""
}

// AdmitMAAS checks MAAS's credentials. With the right password LXD trusts the certificate,
// and MAAS then forgets the password. A restricted certificate is accepted, but it sees
// only its projects.
func AdmitMAAS(l *world.LXD, b *world.BMC, who string) string {
	if l.Lent != nil {
		return LentTo(l).admitMAAS(b, who)
	}
	switch known, isKnown := daemon.FindTrust(l.Trusted, b.Certificate); {
	case isKnown && !known.AllowsProject(b.Project):
		return who + "not authorized"
	case isKnown:
	case b.Password == "":
		return who + "Certificate is not trusted and no password was given"
	case l.IsAtLeast(daemon.VersionWithoutPassword):
		return who + "Password authentication failed: not implemented"
	case b.Password != l.Password:
		return who + "Password authentication failed: not authorized"
	default:
		l.Trusted = append(l.Trusted, daemon.Trust{Certificate: b.Certificate})
	}
	if b.Password != "" {
		b.Password, b.HasPassword = "", false
	}
	return ""
}

// PowerState is the state that power type lxd reports now: on, off or error.
func PowerState(m *world.Machine) string {
	switch {
	case m.PowerType != "lxd":
		return "unknown"
	case PowerProblem(m) != "":
		return "error"
	case m.LXDInstance().Running:
		return "on"
	}
	return "off"
}

// AnswersMAAS tells whether the LXD answers MAAS, at once or slowly.
func AnswersMAAS(l *world.LXD, b *world.BMC) bool {
	return (l.EffectiveCondition() == world.ConditionOK || l.EffectiveCondition() == world.ConditionSlow) && AdmitMAAS(l, b, "") == ""
}
