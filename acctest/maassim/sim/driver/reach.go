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

// Slowness is what a slow LXD adds to each of its operations.
const Slowness = 3 * time.Second

// Reach is the LXD of a BMC if it answers and lets MAAS in, else the problem
// in the words of MAAS's LXD driver. It may let time pass.
func Reach(w *world.World, b *world.BMC, who string) (*world.LXD, string) {
	l := w.LXDAt(b.Address)
	if l == nil {
		return lookAtReal(w, b, who)
	}
	if l.State() == world.Unreachable {
		return nil, ConnectionProblem(b)
	}
	switch l.State() {
	case world.Slow:
		w.Sleep(Slowness)
	case world.Hanging:
		w.Sleep(RegionTimeout)
		return nil, "timed out waiting for the LXD REST API"
	}
	if problem := Admit(l, b, who); problem != "" {
		return l, problem
	}
	return l, unfit(l)
}

// withVMs is the least LXD that MAAS takes (drivers/pod/lxd.py).
var withVMs = daemon.Version{Major: 4, Minor: 16}

// unfit is what MAAS's driver misses in an LXD that let it in.
func unfit(l *world.LXD) string {
	switch {
	case !l.Since(withVMs):
		return "Please upgrade your LXD host to 4.16+ for virtual machine support."
	case len(l.Pools) == 0:
		return "No storage pools exists. Please create a storage pool in LXD."
	}
	return ""
}

// ConnectionProblem is the driver's sentence where nothing answers.
func ConnectionProblem(b *world.BMC) string {
	id := 0
	if b.Host != nil {
		id = b.Host.ID
	}
	return noConnection(strconv.Itoa(id), b)
}

// noConnection is that sentence about a pod of a name.
func noConnection(pod string, b *world.BMC) string {
	host, port, _ := strings.Cut(world.LXDAddress(b.Address), ":")
	return fmt.Sprintf("Pod %s: Failed to connect to the LXD REST API: HTTPSConnectionPool(host='%s', port=%s): Max retries exceeded with url: /1.0?project=%s (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f0000000000>: Failed to establish a new connection: [Errno 111] Connection refused'))",
		pod, host, port, url.QueryEscape(b.Project))
}

// PowerProblem is what the driver says when it cannot act on the machine's power,
// empty if it can. It calls the machine a pod (drivers/pod/lxd.py, _get_machine).
func PowerProblem(m *world.Machine) string {
	l := m.World.LXDAt(m.BMC.Address)
	if l == nil || l.State() == world.Unreachable || l.State() == world.Hanging {
		return noConnection(m.SystemID, m.BMC)
	}
	if problem := m.BMC.KeyProblem(); problem != "" {
		return "VM Host " + m.SystemID + ": " + problem
	}
	if problem := Admit(l, m.BMC, "VM Host "+m.SystemID+": "); problem != "" {
		return problem
	}
	if m.LXDInstance() == nil {
		return fmt.Sprintf("Pod %s: LXD VM %s not found.", m.SystemID, m.Instance)
	}
	return ""
}

// Admit checks MAAS's credentials. The right password makes LXD trust the
// certificate, after which MAAS forgets the password. A restricted certificate
// is let in, and then sees only its projects.
func Admit(l *world.LXD, b *world.BMC, who string) string {
	if l.Lent != nil {
		return LentTo(l).admit(b, who)
	}
	switch known, isKnown := daemon.Trusting(l.Trusted, b.Certificate); {
	case isKnown && !known.Allows(b.Project):
		return who + "not authorized"
	case isKnown:
	case b.Password == "":
		return who + "Certificate is not trusted and no password was given"
	case l.Since(daemon.WithoutPassword):
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

// PowerState is what power type lxd says now: on, off or error.
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

// Answers says whether the LXD answers MAAS at once or after a while.
func Answers(l *world.LXD, b *world.BMC) bool {
	return (l.State() == world.OK || l.State() == world.Slow) && Admit(l, b, "") == ""
}
