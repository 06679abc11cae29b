package site

import (
	"net"
	"net/url"
	"path"
	"strings"
)

// RegionName is the name of a MAAS in a ledger: its host, port and path. It is the same for
// every spelling of the address.
func RegionName(maasURL string) string {
	u, err := url.Parse(strings.TrimSpace(maasURL))
	if err != nil {
		return maasURL // no MAAS has such an address
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	below := strings.TrimSuffix(path.Clean("/"+u.Path), "/api/2.0")
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port) + path.Join("/", strings.TrimSuffix(below, "/MAAS"), "MAAS")
}
