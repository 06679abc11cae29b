package maas

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

var _ engine.Enlister = (*Client)(nil)

// powerLXD is MAAS's name of the driver that turns an LXD's instances on and
// off.
const powerLXD = "lxd"

// Enlist implements engine.Enlister. The private key goes to MAAS as it is, as
// with Register: over plain http anybody on the way can read it. MAAS takes
// zone, pool and domain by name here.
func (c *Client) Enlist(ctx context.Context, e engine.Enlistment) (string, error) {
	r := post("", "machines/").put("hostname", e.Hostname).put("architecture", e.Architecture)
	r.put("commission", "false")
	r.set("description", e.Description).set("zone", e.Zone).set("pool", e.Pool).set("domain", e.Domain)
	r.put("mac_addresses", e.MACs...).powerLXD(e.Instance, e.Credentials)
	// Without them MAAS would make up a name, or a machine that it cannot find.
	for field, value := range map[string]string{"hostname": e.Hostname, "architecture": e.Architecture, "mac_addresses": strings.Join(e.MACs, "")} {
		if value == "" {
			r.refuse(field, "it is empty", "Say of which instance MAAS is to make a machine.")
		}
	}
	r.once = true
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := c.list(ctx, r, &made); err != nil {
		return "", err
	}
	if made.SystemID == "" {
		lost := newError(r, http.StatusOK, "MAAS did not say which machine it made")
		lost.Unclear = true
		return "", lost
	}
	return made.SystemID, nil
}

// powerLXD puts how MAAS is to find the instance. An empty project would be
// LXD's default one, and without a pair MAAS makes one that nobody trusts.
func (r *request) powerLXD(i engine.Instance, pair engine.Credentials) *request {
	const prefix = "power_parameters_"
	r.endpoint(i.Endpoint).put("power_type", powerLXD).put(prefix+"power_address", i.Address).put(prefix+"project", i.Project)
	if i.Name == "" {
		r.refuse("instance_name", "there is no name of an instance", "Name the instance that the machine is.")
	}
	r.put(prefix+"instance_name", i.Name).credentials(pair)
	for _, name := range []string{"certificate", "key"} {
		r.form[prefix+name] = r.form[name]
		r.form.Del(name)
	}
	return r
}

// Enlisted implements engine.Enlister. MAAS finds MACs by their small letters
// only. Many are asked for in several requests.
func (c *Client) Enlisted(ctx context.Context, macs ...string) ([]engine.Machine, error) {
	var machines []engine.Machine
	seen := map[string]bool{}
	for part := range slices.Chunk(macs, maxMACs) { // without a filter MAAS would list all machines
		query := url.Values{}
		for _, mac := range part {
			query.Add("mac_address", strings.ToLower(mac))
		}
		listed, err := c.listWhere(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, m := range listed {
			if m.Err != nil { // it has one of the MACs
				return nil, m.Err
			}
			if !seen[m.SystemID] {
				seen[m.SystemID], machines = true, append(machines, m)
			}
		}
	}
	return machines, nil
}

// maxMACs bounds the MACs of one listing: each takes 40 bytes of maxQuery.
const maxMACs = maxQuery / 40

// PowerOf implements engine.Enlister. What MAAS answers holds the private key:
// only the fields that name the instance are read of it, and nothing is quoted.
func (c *Client) PowerOf(ctx context.Context, systemID string) (engine.Instance, error) {
	r := get(machineRoute, systemID).op("power_parameters")
	r.mute = true
	var power struct {
		Address string `json:"power_address"`
		Project string `json:"project"`
		Name    string `json:"instance_name"`
	}
	if err := c.call(ctx, r, &power); err != nil {
		return engine.Instance{}, err
	}
	// Other drivers have addresses, too, but no instances.
	if power.Address == "" || power.Name == "" {
		return engine.Instance{}, fmt.Errorf("machine %s is no instance of an LXD: %w", systemID, engine.ErrNotFound)
	}
	return engine.Instance{Endpoint: engine.Endpoint{Address: power.Address, Project: power.Project}, Name: power.Name}, nil
}

// Rekey implements engine.Enlister. The driver and all its parameters are sent,
// so that nothing depends on what MAAS keeps of those that are left out.
func (c *Client) Rekey(ctx context.Context, systemID string, i engine.Instance, pair engine.Credentials) error {
	r := newRequest(http.MethodPut, machineRoute, systemID)
	return c.write(ctx, systemID, r.powerLXD(i, pair), nil)
}

// Dismiss implements engine.Enlister. Where MAAS has a VM host of that address,
// project and certificate, it stops and deletes the instance, too.
func (c *Client) Dismiss(ctx context.Context, systemID string) error {
	return c.Decompose(ctx, systemID)
}
