package maas

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// powerLXD is MAAS's power driver for instances of an LXD.
const powerLXD = "lxd"

// Enlister enlists instances of an LXD as machines.
type Enlister struct {
	api      *api.Client
	machines *Machines
	hosts    *Hosts
}

// Enlist implements engine.Enlister. MAAS receives the private key unencrypted, as with
// Register: over plain http anyone on the way can read it. In this call MAAS accepts zone,
// pool and domain by name.
func (c *Enlister) Enlist(ctx context.Context, e engine.Enlistment) (string, error) {
	r := api.NewPost("", "machines/").Put("hostname", e.Hostname).Put("architecture", e.Architecture)
	r.Put("commission", "false")
	r.Set("description", e.Description).Set("zone", e.Zone).Set("pool", e.Pool).Set("domain", e.Domain)
	r.Put("mac_addresses", e.MACs...)
	putPowerLXD(r, e.Instance, e.Credentials)
	// Without them MAAS would invent a name, or make a machine that it cannot find.
	for field, value := range map[string]string{"hostname": e.Hostname, "architecture": e.Architecture, "mac_addresses": strings.Join(e.MACs, "")} {
		if value == "" {
			r.Refuse(field, "it is empty", "Name the instance that MAAS must enlist.")
		}
	}
	r.NoRetry = true
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := c.api.List(ctx, r, &made); err != nil {
		return "", err
	}
	if made.SystemID == "" {
		lost := api.NewError(r, http.StatusOK, "MAAS did not say which machine it made")
		lost.Unclear = true
		return "", lost
	}
	return made.SystemID, nil
}

// putPowerLXD sets how MAAS finds the instance. It sends no empty project, which would mean
// LXD's default one. It always sends a key pair: otherwise MAAS makes one that no LXD
// trusts.
func putPowerLXD(r *api.Request, i engine.Instance, pair engine.Credentials) {
	const prefix = "power_parameters_"
	refuseEmptyEndpoint(r, i.Endpoint)
	r.Put("power_type", powerLXD).Put(prefix+"power_address", i.Address).Put(prefix+"project", i.Project)
	if i.Name == "" {
		r.Refuse("instance_name", "there is no name of an instance", "Name the machine's instance.")
	}
	r.Put(prefix+"instance_name", i.Name)
	putCredentials(r, pair)
	for _, name := range []string{"certificate", "key"} {
		r.Form[prefix+name] = r.Form[name]
		r.Form.Del(name)
	}
}

// MachinesWithMACs implements engine.Enlister. MAAS finds MACs only in lower case. Long
// lists are split over several requests.
func (c *Enlister) MachinesWithMACs(ctx context.Context, macs ...string) ([]engine.Machine, error) {
	var machines []engine.Machine
	seen := map[string]bool{}
	for part := range slices.Chunk(macs, maxMACsPerQuery) { // no request without MACs: MAAS would list all machines
		query := url.Values{}
		for _, mac := range part {
			query.Add("mac_address", strings.ToLower(mac))
		}
		listed, err := c.machines.listMatching(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, m := range listed {
			if m.Err != nil { // unreadable, but it has one of the MACs
				return nil, m.Err
			}
			if !seen[m.SystemID] {
				seen[m.SystemID], machines = true, append(machines, m)
			}
		}
	}
	return machines, nil
}

// maxMACsPerQuery bounds the MACs of one listing: each takes 40 bytes of maxQueryBytes.
const maxMACsPerQuery = maxQueryBytes / 40

// PowerInstanceOf implements engine.Enlister. MAAS's answer holds the private key: only the
// fields that name the instance are decoded, and nothing is quoted.
func (c *Enlister) PowerInstanceOf(ctx context.Context, systemID string) (engine.Instance, error) {
	r := api.NewGet(machineRoute, systemID).Op("power_parameters")
	r.SecretAnswer = true
	var power struct {
		Address string `json:"power_address"`
		Project string `json:"project"`
		Name    string `json:"instance_name"`
	}
	if err := c.api.Call(ctx, r, &power); err != nil {
		return engine.Instance{}, err
	}
	// Other drivers have addresses too, but no instances.
	if power.Address == "" || power.Name == "" {
		return engine.Instance{}, fmt.Errorf("machine %s is not an instance of an LXD server: %w", systemID, engine.ErrNotFound)
	}
	return engine.Instance{Endpoint: engine.Endpoint{Address: power.Address, Project: power.Project}, Name: power.Name}, nil
}

// SetPowerInstance implements engine.Enlister. It sends the driver and all its parameters,
// so that nothing depends on which omitted parameters MAAS keeps.
func (c *Enlister) SetPowerInstance(ctx context.Context, systemID string, i engine.Instance, pair engine.Credentials) error {
	r := api.NewRequest(http.MethodPut, machineRoute, systemID)
	putPowerLXD(r, i, pair)
	return c.machines.writeMachine(ctx, systemID, r, nil)
}

// DeleteMachineRecord implements engine.Enlister. If MAAS has a VM host with the same
// address, project and certificate, MAAS also stops and deletes the instance.
func (c *Enlister) DeleteMachineRecord(ctx context.Context, systemID string) error {
	return c.hosts.Decompose(ctx, systemID)
}
