package texttype

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// Address is the address of an LXD: "10.0.0.5", or "https://10.0.0.5:8443".
type Address = Value[address]

// AddressType is the type of Address.
var AddressType Type[address]

type address struct{}

func (address) name() string { return "Address" }

func (k address) equivalent(a, b string) bool { return k.canonical(a) == k.canonical(b) }

func (address) canonical(text string) string {
	if text == "" {
		return ""
	}
	return "https://" + net.JoinHostPort(splitEndpoint(text))
}

// splitEndpoint returns the host and the port of an address in one spelling.
func splitEndpoint(text string) (host, port string) {
	host, port, err := net.SplitHostPort(strings.TrimPrefix(engine.Endpoint{Address: text}.URL(), "https://"))
	if err != nil {
		return text, ""
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	}
	return host, port
}

// maxPort is the last port of TCP.
const maxPort = 65535

func (address) problemOf(text string) string {
	host, port := splitEndpoint(text)
	n, err := strconv.Atoi(port)
	if err == nil && n >= 1 && n <= maxPort && host != "" && !strings.ContainsAny(host, " \t\r\n/@?#[]") {
		return ""
	}
	return fmt.Sprintf(`%s is not an address of an LXD server. Write its host, and its port if that is not 8443, such as "10.0.0.5" or "https://10.0.0.5:8443".`, quoteShort(text))
}

// IP is an address of an interface: "10.0.0.10", or "fd00::10".
type IP = Value[ip]

// IPType is the type of IP.
var IPType Type[ip]

type ip struct{}

func (ip) name() string { return "IP" }

func (k ip) equivalent(a, b string) bool { return k.canonical(a) == k.canonical(b) }

func (ip) canonical(text string) string {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.String()
	}
	return text
}

func (ip) problemOf(text string) string {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return ""
	}
	return fmt.Sprintf(`%s is not an IP address. Write one such as "10.0.0.10" or "fd00::10", without a mask, a port or a zone.`, quoteShort(text))
}

// Prefix is an address with its prefix, "10.10.0.1/24", or "none".
type Prefix = Value[prefix]

// PrefixType is the type of Prefix.
var PrefixType Type[prefix]

// noPrefix is LXD's word for no address.
const noPrefix = "none"

type prefix struct{}

func (prefix) name() string { return "Prefix" }

func (prefix) equivalent(a, b string) bool { return canonicalPrefix(a) == canonicalPrefix(b) }

func (prefix) canonical(text string) string { return canonicalPrefix(text) }

// problemOf leaves other checks to the rules of LXD's networks, which know the family.
func (prefix) problemOf(text string) string {
	if _, err := netip.ParsePrefix(text); err == nil || text == noPrefix {
		return ""
	}
	return fmt.Sprintf(`%s is not an address of a bridge. Give one with its prefix, such as 10.10.0.1/24 or fd42::1/64, or "none".`, quoteShort(text))
}

// canonicalPrefix does not change texts that are no prefix.
func canonicalPrefix(text string) string {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.String()
	}
	return text
}
