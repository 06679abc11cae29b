package world

import (
	"net"
	"slices"
	"time"
)

// FirstBoot is how the user-data of a deployed machine ends.
type FirstBoot string

// The ends of a first boot. A first boot that fails or never ends leaves no LXD. MAAS
// shows Deployed in all cases.
const (
	BootOK    FirstBoot = "ok"
	BootFails FirstBoot = "fails"
	BootNever FirstBoot = "never"
	// BootReal is not simulated. An outside program boots with the installer's files and
	// asks the metadata service. The machine is Deployed once it has asked for its
	// user-data. When MAAS looks for its LXD, the simulator connects to the machine's
	// address.
	BootReal FirstBoot = "real"
)

// StartBoot starts the machine's first boot with a random duration, and calls end after
// it.
func (m *Machine) StartBoot(end func()) *Job {
	l := m.World.Latency
	m.BootDuration = l.FirstBoot
	if most := l.FirstBootMost; most > l.FirstBoot {
		m.BootDuration += time.Duration(m.World.FaultSource.Draw("first boot "+m.Hostname) * float64(most-l.FirstBoot))
	}
	return m.World.StartJob(m.BootDuration, end)
}

// listensAt tells whether the LXD on a machine answers at host:port. It answers at each
// address and name of the machine, unless it is bound to one address.
func (l *LXD) listensAt(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || l.Metal == nil || l.Listen != port {
		return false
	}
	m := l.Metal
	return slices.Contains(m.Addresses(), host) || m.IsNamed(host)
}

// runsSystem tells whether the machine runs the system that was deployed on it.
func (m *Machine) runsSystem() bool {
	installed := m.Status == StatusDeployed || m.Status == StatusDeploying && m.RegisterHost != nil && !m.Netboot
	return installed && m.PowerState != "off" && m.PowerState != "error"
}
