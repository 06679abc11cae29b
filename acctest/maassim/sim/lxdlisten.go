package sim

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// How the LXDs of a simulator listen; see Model.LXDListen.
const (
	// LXDListenOff: not at all. In-process users have DialContext.
	LXDListenOff = "off"
	// LXDListenAuto: at their own addresses, in a loopback network that is free;
	// where the system has none, on ports.
	LXDListenAuto = "auto"
	// LXDListenPorts: each on a port of 127.0.0.1.
	LXDListenPorts = "ports"
)

// lxdSockets are how the LXDs listen. A network is held by a socket of its own, so
// that two simulators never share one.
type lxdSockets struct {
	network       netip.Prefix // invalid: none of its own
	networkHolder net.Listener
	ports         map[string]string // where what could not listen at its address does
	portReleases  []func()          // of those ports
}

// checkLXDListen says what is wrong with the field.
func (m Model) checkLXDListen() error {
	switch m.LXDListen {
	case "", LXDListenOff, LXDListenAuto, LXDListenPorts:
		return nil
	}
	_, err := parseLoopbackNetwork(m.LXDListen)
	return err
}

// parseLoopbackNetwork reads a network of LXDs.
func parseLoopbackNetwork(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() || p.Bits() != 16 || p != p.Masked() || !p.Addr().IsLoopback() || p.Addr().As4()[1] == 0 {
		return p, fmt.Errorf(`lxd_listen: %q is none of off, auto, ports, or a network of 127.1.0.0/16 to 127.255.0.0/16`, text)
	}
	return p, nil
}

// openSockets takes the network that the model wants, nil for LXDs that do not
// listen.
func openSockets(listen string) (*lxdSockets, error) {
	s := &lxdSockets{ports: map[string]string{}}
	switch listen {
	case "", LXDListenOff:
		return nil, nil
	case LXDListenPorts:
		return s, nil
	case LXDListenAuto:
		s.holdAnyNetwork()
		return s, nil
	}
	network, err := parseLoopbackNetwork(listen)
	if err != nil {
		return nil, err
	}
	if err := s.holdNetwork(network); err != nil {
		return nil, fmt.Errorf("lxd_listen: cannot have %s: %w; another simulator may have it: take another, or auto", network, err)
	}
	return s, nil
}

// holdAnyNetwork takes the first network that is free, beginning at 127.77.0.0/16;
// none where the system has no loopback addresses but one.
func (s *lxdSockets) holdAnyNetwork() {
	for i := range 250 {
		second := byte(77 + i)
		if i >= 178 {
			second = byte(i - 176) // from 2
		}
		if s.holdNetwork(netip.PrefixFrom(netip.AddrFrom4([4]byte{127, second, 0, 0}), 16)) == nil {
			return
		}
	}
}

func (s *lxdSockets) holdNetwork(network netip.Prefix) (err error) {
	last := network.Addr().As4()
	last[2], last[3] = 255, 254
	if s.networkHolder, err = net.Listen("tcp", net.JoinHostPort(netip.AddrFrom4(last).String(), daemon.Port)); err == nil {
		s.network = network
	}
	return err
}

// release gives the network and the ports back.
func (s *lxdSockets) release() {
	if s == nil {
		return
	}
	if s.networkHolder != nil {
		_ = s.networkHolder.Close()
	}
	for _, release := range s.portReleases {
		release()
	}
	s.portReleases = nil
}

// listen listens at an address if it is a loopback address, else, or where that
// is not to be had, on a port of 127.0.0.1, the same each time.
func (s *lxdSockets) listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if daemon.IsLoopback(host) {
		if l, err := net.Listen("tcp", address); err == nil {
			return l, nil
		}
	}
	if at, known := s.ports[address]; known {
		if l, err := net.Listen("tcp", at); err == nil {
			return l, nil
		}
	}
	l, err := s.listenOnPort()
	if err != nil {
		return nil, fmt.Errorf("cannot listen for %s: %w", address, err)
	}
	s.ports[address] = l.Addr().String()
	return l, nil
}

// listenOnPort listens on a port that is kept until release: an LXD that is unreachable
// for a while closes its port, and must find it again. Where no such port is left, any
// will do.
func (s *lxdSockets) listenOnPort() (net.Listener, error) {
	l, release, err := freeport.Listen()
	if err != nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	s.portReleases = append(s.portReleases, release)
	return l, nil
}

// originalAddress is the address whose LXD listens on a port of 127.0.0.1, empty for
// none.
func (s *lxdSockets) originalAddress(port string) string {
	if s == nil {
		return ""
	}
	for address, at := range s.ports {
		if at == port && address != port {
			return address
		}
	}
	return ""
}

// firstHostOctet is the part of a loopback network that hosts are in, above the
// subnet of machines.
const firstHostOctet = 200

// withNetwork moves what the model leaves open into the network: its subnets, and
// the addresses of its hosts.
func (m Model) withNetwork(network netip.Prefix) Model {
	prefix, found := strings.CutSuffix(network.String(), ".0.0/16")
	if !found {
		return m
	}
	if len(m.Subnets) == 0 {
		m.Subnets = []SubnetModel{{DHCP: true}}
	}
	m.Subnets = slices.Clone(m.Subnets)
	for i := range m.Subnets {
		m.Subnets[i].CIDR = cmp.Or(m.Subnets[i].CIDR, fmt.Sprintf("%s.%d.0/24", prefix, i))
	}
	m.Hosts = slices.Clone(m.Hosts)
	for i := range m.Hosts {
		address := fmt.Sprintf("https://%s.%d.%d:%s", prefix, firstHostOctet+i/250, i%250+2, daemon.Port)
		m.Hosts[i].Address = cmp.Or(m.Hosts[i].Address, address)
	}
	return m
}
