package world

import (
	"net"
	"slices"
	"time"
)

// FirstBoot says how the user-data of a deployed machine ends.
type FirstBoot string

// How a first boot ends. One that fails leaves no LXD, and one that never ends
// stays without: MAAS says Deployed in all cases.
const (
	BootOK    FirstBoot = "ok"
	BootFails FirstBoot = "fails"
	BootNever FirstBoot = "never"
	// BootReal is not simulated: something outside boots what the installer left,
	// asks the metadata service, and is Deployed once it has asked for its
	// user-data. An LXD is looked for at the machine's address when MAAS does.
	BootReal FirstBoot = "real"
)

// StartBoot draws how long the machine's first boot takes, and runs what is at its end.
func (m *Machine) StartBoot(end func()) *Job {
	l := m.World.Latency
	m.BootDuration = l.FirstBoot
	if most := l.FirstBootMost; most > l.FirstBoot {
		m.BootDuration += time.Duration(m.World.FaultSource.Draw("first boot "+m.Hostname) * float64(most-l.FirstBoot))
	}
	return m.World.StartJob(m.BootDuration, end)
}

// listensAt says whether an LXD on a machine answers at host:port: at each of
// the machine's addresses and names, unless it is bound to one.
func (l *LXD) listensAt(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || l.Metal == nil || l.Listen != port {
		return false
	}
	m := l.Metal
	return slices.Contains(m.Addresses(), host) || m.IsNamed(host)
}

// runsSystem says whether the machine runs what was deployed on it.
func (m *Machine) runsSystem() bool {
	installed := m.Status == StatusDeployed || m.Status == StatusDeploying && m.RegisterHost != nil && !m.Netboot
	return installed && m.PowerState != "off" && m.PowerState != "error"
}
