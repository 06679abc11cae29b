package maas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

const dnsRoute = "dnsresources/{id}/"

// maxDNSTries bounds how often a name is read again because it changed between read and
// write.
const maxDNSTries = 3

// DNS writes names in MAAS's DNS.
type DNS struct {
	api     *api.Client
	names   *Names
	written writtenDNS
}

func newDNS(c Config, sender *api.Client, names *Names) *DNS {
	return &DNS{api: sender, names: names, written: writtenDNS{now: c.Now, last: map[engine.DNSName]writtenName{}}}
}

// DNSRecord implements engine.DNS.
func (c *DNS) DNSRecord(ctx context.Context, name engine.DNSName) (engine.DNSRecord, error) {
	if err := name.Validate(); err != nil {
		return engine.DNSRecord{}, err
	}
	have, err := c.dnsResource(ctx, name)
	return have.record(), err
}

// PublishDNS implements engine.DNS. Between read and write, someone else may have made the
// name, or MAAS may have removed it with its last machine. The reply to a write may also be
// lost. In these cases the name is read again.
func (c *DNS) PublishDNS(ctx context.Context, name engine.DNSName, want engine.DNSRecord) (bool, error) {
	if err := errors.Join(name.Validate(), want.Validate()); err != nil {
		return false, err
	}
	want.Addresses = sortedAddresses(want.Addresses)
	changed := false
	for try := 1; ; try++ {
		wrote, err := c.publishOnce(ctx, name, want)
		changed = changed || wrote
		switch {
		case err == nil:
			return changed, nil
		case try == maxDNSTries || !isOutdatedWrite(err) || ctx.Err() != nil:
			return changed, fmt.Errorf("cannot publish %s in the DNS of MAAS: %w", name, dnsRefusalError(err))
		}
	}
}

// isOutdatedWrite reports whether a write failed in a way that another read may resolve.
// For example, an error that names no field may say that the name is taken.
func isOutdatedWrite(err error) bool {
	e, ok := api.AsError(err)
	return ok && (e.Unclear || e.Kind == engine.ErrNotFound || len(e.FieldMessages[api.AllFields]) > 0)
}

// publishOnce reads the name, unless we wrote it just now, and writes what differs.
func (c *DNS) publishOnce(ctx context.Context, name engine.DNSName, want engine.DNSRecord) (bool, error) {
	if have, ok := c.written.takeWritten(name); ok && have.needsUpdate(want) && len(reservedAddresses(unwantedAddresses(have.Addresses, want.Addresses))) == 0 {
		return true, c.updateRecord(ctx, name, have.ID, want)
	}
	have, err := c.dnsResource(ctx, name)
	if errors.Is(err, engine.ErrNotFound) && !isSpecError(err) {
		r := api.NewPost("", "dnsresources/").Put("name", name.Label).Put("domain", name.Domain)
		return true, c.writeDNS(ctx, name, putRecord(r, want))
	}
	if err != nil {
		return false, err
	}
	surplus := unwantedAddresses(have.Addresses, want.Addresses)
	if len(surplus) == 0 && have.pointsExactlyTo(want) {
		return false, nil
	}
	dropped, err := c.releasableAddresses(ctx, have, surplus)
	if err != nil {
		return false, err
	}
	// Dropping an address from its name makes it releasable. Until then the name keeps it:
	// if this run is cut off, the next one finds it there.
	both := want
	both.Addresses = sortedAddresses(append(slices.Clone(want.Addresses), dropped...))
	if !have.pointsExactlyTo(both) {
		if err := c.updateRecord(ctx, name, have.ID, both); err != nil {
			return true, err
		}
	}
	kept, err := c.releaseAddresses(ctx, dropped)
	if err == nil && len(kept) > 0 {
		err = c.updateRecord(ctx, name, have.ID, want)
	}
	return true, err
}

// RemoveDNS implements engine.DNS. MAAS itself removes a name when its last address is
// released.
func (c *DNS) RemoveDNS(ctx context.Context, name engine.DNSName) error {
	if err := name.Validate(); err != nil {
		return err
	}
	have, err := c.dnsResource(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err == nil:
		c.written.takeWritten(name)
		err = c.removeDNS(ctx, name, have)
	}
	if err != nil {
		return fmt.Errorf("cannot remove %s from the DNS of MAAS: %w", name, dnsRefusalError(err))
	}
	return nil
}

func (c *DNS) removeDNS(ctx context.Context, name engine.DNSName, have wireDNS) error {
	dropped, err := c.releasableAddresses(ctx, have, have.Addresses)
	if err != nil {
		return err
	}
	if len(have.Records) > 0 {
		// The name must outlive its addresses, so they are removed first.
		if err := c.updateRecord(ctx, name, have.ID, engine.DNSRecord{}); err != nil {
			return err
		}
		_, err := c.releaseAddresses(ctx, dropped)
		return err
	}
	if _, err := c.releaseAddresses(ctx, dropped); err != nil {
		return err
	}
	err = c.api.Call(ctx, api.NewRequest(http.MethodDelete, dnsRoute, strconv.Itoa(have.ID)), nil)
	if api.IsStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// updateRecord writes the addresses and the TTL of a name.
func (c *DNS) updateRecord(ctx context.Context, name engine.DNSName, id int, to engine.DNSRecord) error {
	return c.writeDNS(ctx, name, putRecord(api.NewRequest(http.MethodPut, dnsRoute, strconv.Itoa(id)), to))
}

// putRecord formats addresses as MAAS accepts them: separated by spaces. A comma is an
// internal error in MAAS, and of a repeated field only the last value counts. Both fields
// are always sent: an empty one clears.
func putRecord(r *api.Request, to engine.DNSRecord) *api.Request {
	texts := make([]string, len(to.Addresses))
	for n, ip := range to.Addresses {
		texts[n] = ip.String()
	}
	ttl := ""
	if to.TTLSeconds > 0 {
		ttl = strconv.Itoa(to.TTLSeconds)
	}
	return r.Put("ip_addresses", strings.Join(texts, " ")).Put("address_ttl", ttl)
}

// releasableAddresses returns the addresses that MAAS would keep reserved although nothing
// uses them. No machine has them, and no other name points to them: another name would lose
// them too.
func (c *DNS) releasableAddresses(ctx context.Context, have wireDNS, surplus []wireAddress) ([]netip.Addr, error) {
	found := reservedAddresses(surplus)
	if len(found) == 0 {
		return nil, nil
	}
	var all api.Elements[wireDNS]
	if err := c.api.List(ctx, api.NewGet("dnsresources/"), &all); err != nil {
		return nil, err
	}
	if len(all.Unreadable) > 0 { // the unreadable names may point to any of the addresses
		return nil, nil
	}
	for _, other := range all.List {
		if other.ID != have.ID {
			found = slices.DeleteFunc(found, func(ip netip.Addr) bool { return slices.Contains(other.addresses(), ip) })
		}
	}
	return found, nil
}

// reservedAddresses returns the addresses that are reserved and that no machine has: MAAS
// may have reserved them for the name.
func reservedAddresses(addresses []wireAddress) []netip.Addr {
	var found []netip.Addr
	for _, a := range addresses {
		if a.AllocType == allocUserReserved && len(a.Interfaces) == 0 {
			found = append(found, a.IP.Addr)
		}
	}
	return found
}

// releaseAddresses releases addresses that came with a name. It returns those that MAAS
// keeps because another user reserved them. The caller has checked that they existed.
func (c *DNS) releaseAddresses(ctx context.Context, addresses []netip.Addr) (kept []netip.Addr, err error) {
	for _, ip := range addresses {
		err := c.api.List(ctx, api.NewPost("release", "ipaddresses/").Put("ip", ip.String()), nil)
		switch {
		case api.IsStatus(err, http.StatusBadRequest):
			kept = append(kept, ip)
		case err != nil:
			return nil, err
		}
	}
	return kept, nil
}
