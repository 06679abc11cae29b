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

// defaultPort is LXD's port. MAAS also takes it for an address without a port.
const defaultPort = 8443

// hostPort returns "host:port" for an address in any form that people and MAAS write:
// "10.0.0.5", "10.0.0.5:8443", "https://10.0.0.5:8443", "fd00::5", "[fd00::5]:8443".
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
	// If the parsed host is shorter than the text, the text has a path or a user.
	if err != nil || u.Host != rest || u.Hostname() == "" {
		return "", addressError(address)
	}
	port := cmp.Or(u.Port(), strconv.Itoa(defaultPort))
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", addressError(address)
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port), nil
}

// withoutBrackets removes a pair of square brackets around the host.
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
		address = "the given text" // the text may hold a password
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

// IsSameServer reports whether two addresses are of the same host and port, however they
// are written.
func IsSameServer(a, b string) bool {
	first, err := hostPort(a)
	if err != nil {
		return a == b
	}
	second, err := hostPort(b)
	return err == nil && first == second
}
