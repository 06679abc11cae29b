package maas

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

const hostRoute = "vm-hosts/{id}/"

// Register implements engine.Registrar. MAAS receives the private key unencrypted: over
// plain http anyone on the way can read it, so the caller must decide whether to allow
// that. It never sends an empty project or a key pair that does not match.
//
// If MAAS has machines that were enlisted one by one at this endpoint, it makes the VM host
// of their BMC. Then it ignores everything but the endpoint and the credentials, and
// UpdateHost must set the rest.
func (c *Hosts) Register(ctx context.Context, g engine.Registration) (engine.VMHost, error) {
	r := api.NewPost("", "vm-hosts/").Put("type", "lxd").Put("power_address", g.Address).Put("project", g.Project)
	r.Set("name", g.Name).Set("zone", g.Zone).Set("pool", g.Pool).Set("tags", strings.Join(g.Tags, ","))
	putRatio(r, "cpu_over_commit_ratio", g.CPUOvercommit)
	putRatio(r, "memory_over_commit_ratio", g.MemoryOvercommit)
	putCredentials(r, g.Credentials)
	refuseEmptyEndpoint(r, g.Endpoint)
	r.NoRetry, r.Slow = true, true
	defer c.list.Drop()
	var made struct {
		ID int `json:"id"`
	}
	if err := c.api.List(ctx, r, &made); err != nil {
		return engine.VMHost{}, registerError(err)
	}
	if made.ID == 0 {
		e := api.NewError(r, http.StatusOK, "MAAS did not say which VM host it made")
		e.Unclear = true
		return engine.VMHost{}, e
	}
	return engine.VMHost{ID: made.ID, Name: g.Name}, nil
}

// registerError separates a server that MAAS already has from a bad value. MAAS reports a
// bad value as form fields, and an existing server as a text (forms/pods.py, PodForm).
//
// MAAS also sends a text if it has no image to commission the VMs that it found. So the
// hint does not claim more than is known.
func registerError(err error) error {
	e, ok := api.AsError(err)
	if ok && e.Status == http.StatusBadRequest && e.MediaType == "text/plain" {
		e.Kind = engine.ErrConflict
		e.Hint = "If MAAS has a VM host with this address, project and certificate already, use that, or remove it from MAAS first."
	}
	return err
}

// AdoptsExistingVMs implements engine.Registrar.
func (c *Hosts) AdoptsExistingVMs(context.Context) (bool, error) { return true, nil }

// CheckMachineExists implements engine.Registrar. It does nothing: MAAS finds or makes the
// machine when it registers the LXD.
func (c *Hosts) CheckMachineExists(context.Context, engine.Endpoint) error { return nil }

// Endpoint implements engine.Registrar. MAAS's answer holds the private key: only two
// fields are decoded, and nothing is quoted.
func (c *Hosts) Endpoint(ctx context.Context, host engine.VMHost) (engine.Endpoint, error) {
	r := api.NewGet(hostRoute, strconv.Itoa(host.ID)).Op("parameters")
	r.SecretAnswer = true
	var answer struct {
		Address string `json:"power_address"`
		Project string `json:"project"`
	}
	err := c.api.Call(ctx, r, &answer)
	return engine.Endpoint{Address: answer.Address, Project: answer.Project}, err
}

// UpdateHost implements engine.Registrar. In this call MAAS accepts zone, pool and storage
// pool by name.
func (c *Hosts) UpdateHost(ctx context.Context, host engine.VMHost, u engine.HostUpdate) error {
	r := api.NewRequest(http.MethodPut, hostRoute, strconv.Itoa(host.ID))
	texts := map[string]*string{
		"name": u.Name, "zone": u.Zone, "pool": u.Pool, "default_storage_pool": u.DefaultStoragePool,
	}
	for name, value := range texts {
		if value != nil {
			r.Put(name, *value)
		}
	}
	ratios := map[string]*float64{
		"cpu_over_commit_ratio": u.CPUOvercommit, "memory_over_commit_ratio": u.MemoryOvercommit,
	}
	for name, value := range ratios {
		if value != nil {
			r.Put(name, formatDecimal(*value))
		}
	}
	if u.Credentials != nil {
		putCredentials(r, *u.Credentials)
	}
	if r.Form == nil && r.Err == nil {
		return nil
	}
	r.Slow = true
	return c.writeHost(ctx, r)
}

// TagHost implements engine.Registrar.
func (c *Hosts) TagHost(ctx context.Context, host engine.VMHost, tag string) error {
	return c.writeHost(ctx, api.NewPost("add_tag", hostRoute, strconv.Itoa(host.ID)).Put("tag", tag))
}

// UntagHost implements engine.Registrar.
func (c *Hosts) UntagHost(ctx context.Context, host engine.VMHost, tag string) error {
	return c.writeHost(ctx, api.NewPost("remove_tag", hostRoute, strconv.Itoa(host.ID)).Put("tag", tag))
}

// Unregister implements engine.Registrar. It never asks MAAS to decompose the VMs.
func (c *Hosts) Unregister(ctx context.Context, host engine.VMHost) error {
	r := api.NewRequest(http.MethodDelete, hostRoute, strconv.Itoa(host.ID))
	r.Slow = true
	if err := c.writeHost(ctx, r); !isNotFound(err) {
		return err
	}
	return nil
}

// writeHost sends a request that changes a VM host.
func (c *Hosts) writeHost(ctx context.Context, r *api.Request) error {
	defer c.list.Drop()
	return c.api.Call(ctx, r, nil)
}

// refuseEmptyEndpoint refuses an empty address or project: MAAS would choose a different
// project.
func refuseEmptyEndpoint(r *api.Request, e engine.Endpoint) {
	if e.Address == "" {
		r.Refuse("power_address", "there is no address of an LXD server", "Give the address by which MAAS reaches it, like https://10.0.0.5:8443.")
	}
	if e.Project == "" {
		r.Refuse("project", "there is no LXD project", "Name the project whose VMs MAAS must manage. LXD's own project is called default.")
	}
}

// putCredentials sends a key pair only if MAAS can use it; for any other MAAS answers 500.
// No error text ever holds the key.
func putCredentials(r *api.Request, pair engine.Credentials) {
	r.Put("certificate", pair.Certificate).Put("key", pair.Key)
	r.Secrets = append(r.Secrets, pair.Key, url.QueryEscape(pair.Key))
	const hint = "Give a PEM certificate and the unencrypted PEM private key that belongs to it."
	if block, _ := pem.Decode([]byte(pair.Certificate)); block == nil || block.Type != "CERTIFICATE" {
		r.Refuse("certificate", "there is no PEM certificate in it", hint)
		return
	}
	// The cause is omitted: it is crypto/tls's text, and describes the key.
	if _, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key)); err != nil {
		r.Refuse("key", "it is not the PEM private key of the certificate", hint)
	}
}

// putRatio sends an over-commit ratio. For zero MAAS uses its default.
func putRatio(r *api.Request, name string, value float64) {
	if value > 0 {
		r.Put(name, formatDecimal(value))
	}
}

func formatDecimal(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
