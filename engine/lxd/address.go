package lxd

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// defaultPort is LXD's, and what MAAS takes for an address without one.
const defaultPort = 8443

// hostPort makes "host:port" of an address as people, and MAAS, write it:
// "10.0.0.5", "10.0.0.5:8443", "https://10.0.0.5:8443", "fd00::5",
// "[fd00::5]:8443".
func hostPort(address string) (string, error) {
	scheme, rest, found := strings.Cut(address, "://")
	switch {
	case !found:
		rest = address
	case !strings.EqualFold(scheme, "https"):
		return "", addressError(address)
	}
	rest = strings.TrimSuffix(rest, "/")
	if ip, err := netip.ParseAddrPort(rest); err == nil && ip.Port() != 0 {
		return ip.String(), nil
	}
	if ip, err := netip.ParseAddr(withoutBrackets(rest)); err == nil {
		return netip.AddrPortFrom(ip, defaultPort).String(), nil
	}
	u, err := url.Parse("https://" + rest)
	// A host that is only a part of what was written leaves a path or a user.
	if err != nil || u.Host != rest || u.Hostname() == "" {
		return "", addressError(address)
	}
	port := cmp.Or(u.Port(), strconv.Itoa(defaultPort))
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", addressError(address)
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port), nil
}

// withoutBrackets takes away a pair of them.
func withoutBrackets(host string) string {
	inner, opened := strings.CutPrefix(host, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if opened && closed {
		return inner
	}
	return host
}

func addressError(address string) error {
	if strings.Contains(address, "@") {
		address = "what was given" // it may hold a password
	} else {
		address = strconv.Quote(address)
	}
	return &engine.SpecError{
		Field:   fieldpath.New("address"),
		Message: fmt.Sprintf("%s is not the address of an LXD", address),
		Hint:    `Give a host or an IP address, with a port unless it is 8443: "10.0.0.5", "https://10.0.0.5:8443", "[fd00::5]:8443".`,
		Err:     engine.ErrInvalid,
	}
}

// IsSameServer tells whether two addresses, however they are written, are of the
// same host and port.
func IsSameServer(a, b string) bool {
	first, err := hostPort(a)
	if err != nil {
		return a == b
	}
	second, err := hostPort(b)
	return err == nil && first == second
}
