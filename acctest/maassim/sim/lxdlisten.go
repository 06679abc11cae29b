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

// Values of Model.LXDListen.
const (
	// LXDListenOff listens nowhere. Code in the same process can use DialContext.
	LXDListenOff = "off"
	// LXDListenAuto listens at the LXDs' own addresses in a free loopback network. On a
	// system without such a network it listens on ports.
	LXDListenAuto = "auto"
	// LXDListenPorts gives each LXD a port of 127.0.0.1.
	LXDListenPorts = "ports"
)

// lxdSockets are the sockets of the LXDs. Another socket reserves their network, so that
// two simulators never share one.
type lxdSockets struct {
	network       netip.Prefix // invalid if there is no network
	networkHolder net.Listener
	ports         map[string]string // the port of each LXD that could not listen at its address
	portReleases  []func()          // release the ports
}

// checkLXDListen refuses an invalid value.
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
		return p, fmt.Errorf(`lxd_listen: %q is not one of off, auto, ports, or a network of 127.1.0.0/16 to 127.255.0.0/16`, text)
	}
	return p, nil
}

// openSockets reserves the network that the model asks for. It returns nil if the LXDs do
// not listen.
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
		return nil, fmt.Errorf("lxd_listen: cannot use %s: %w; another simulator may use it: choose another network, or auto", network, err)
	}
	return s, nil
}

// holdAnyNetwork reserves the first free network from 127.77.0.0/16 on. On a system with a
// single loopback address it reserves none.
func (s *lxdSockets) holdAnyNetwork() {
	for i := range 250 {
		second := byte(77 + i)
		if i >= 178 {
			second = byte(i - 176) // numbers from 2 on
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

// release releases the network and the ports.
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

// listen listens at the address if that is a free loopback address. Otherwise it uses a
// port of 127.0.0.1, always the same for one address.
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

// listenOnPort listens on a port that stays reserved until release. An LXD that is
// unreachable for a while closes its port and later needs the same one. If all such ports
// are taken, it uses any port.
func (s *lxdSockets) listenOnPort() (net.Listener, error) {
	l, release, err := freeport.Listen()
	if err != nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	s.portReleases = append(s.portReleases, release)
	return l, nil
}

// originalAddress is the address of the LXD that listens on a port of 127.0.0.1, or empty.
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

// firstHostOctet is the third octet of the hosts' addresses in a loopback network, above
// the machines' subnet.
const firstHostOctet = 200

// withNetwork sets addresses that the model does not name to addresses in the network:
// those of subnets and hosts.
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
