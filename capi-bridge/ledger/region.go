package ledger

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/site"
)

// normalizeRegion returns the name that the ledger has for a MAAS. A user may write the MAAS's
// URL: the ledger calls the MAAS by the URL's host, port and path. A mark and the wildcard stay as
// they are. The error is a *setting.UsageError.
func normalizeRegion(text string) (string, error) {
	address := strings.TrimSpace(text)
	if !access.IsMAASAddress(address) {
		return address, nil
	}
	if !strings.Contains(address, "://") {
		host, _, _ := strings.Cut(address, "/")
		if _, port, err := net.SplitHostPort(host); err != nil || port == "" {
			return "", regionError(fmt.Sprintf("the address %q has no port", text))
		}
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return "", regionError(fmt.Sprintf("%q is not an address of a MAAS", text))
	}
	return site.RegionName(address), nil
}

// normalizeRegions is normalizeRegion for a list, which it changes.
func normalizeRegions(regions []string) (err error) {
	for i := range regions {
		if regions[i], err = normalizeRegion(regions[i]); err != nil {
			return err
		}
	}
	return nil
}

func regionError(text string) error {
	return &setting.UsageError{
		Flag: "--region", Text: text,
		Hint: "Give the mark of the MAAS, its address such as maas.example:5240/MAAS, or its URL such as http://maas.example:5240/MAAS.",
	}
}
