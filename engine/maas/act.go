package maas

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
)

const machineRoute = "machines/{id}/"

// Update implements engine.Machines. MAAS takes zone, pool and domain by name
// here.
func (c *Client) Update(ctx context.Context, systemID string, u engine.MachineUpdate) error {
	r := newRequest(http.MethodPut, machineRoute, systemID)
	fields := map[string]*string{
		"hostname": u.Hostname, "description": u.Description,
		"zone": u.Zone, "pool": u.Pool, "domain": u.Domain,
	}
	for name, value := range fields {
		if value != nil {
			r.put(name, *value)
		}
	}
	if u.SwapBytes != nil {
		r.put("swap_size", strconv.FormatInt(*u.SwapBytes, 10))
	}
	if r.form == nil && r.err == nil {
		return nil
	}
	return c.write(ctx, systemID, r, nil)
}

// Link implements engine.Machines. MAAS answers 404 when a fixed address is
// taken (api/interfaces.py, link_subnet), which here means ErrConflict: that
// the machine and the interface exist is for the caller to have seen.
func (c *Client) Link(ctx context.Context, systemID string, interfaceID int, subnet engine.Subnet, ip string) error {
	defer c.ranges.drop(subnet.ID)
	r := post("link_subnet", "nodes/{id}/interfaces/{id}/", systemID, strconv.Itoa(interfaceID))
	r.put("subnet", strconv.Itoa(subnet.ID)).put("force", "true")
	if ip == "" {
		return c.write(ctx, systemID, r.put("mode", "AUTO"), nil)
	}
	err := c.write(ctx, systemID, r.put("mode", "STATIC").put("ip_address", ip), nil)
	if e, ok := asError(err); ok && e.Kind == engine.ErrNotFound {
		e.Kind = engine.ErrConflict
		e.Hint = "Choose an address that MAAS does not list as used on " + subnet.CIDR + "."
	}
	return err
}

// Commission implements engine.Machines.
func (c *Client) Commission(ctx context.Context, systemID string) error {
	r := post("commission", machineRoute, systemID).put("testing_scripts", "none")
	return c.begin(ctx, systemID, engine.PhaseCommissioning, r)
}

// Deploy implements engine.Machines. The image goes as distro_series, which
// takes "ubuntu/noble"; MAAS ignores osystem. It ignores a kernel, too, unless a
// series comes with it, so that its default is named where a kernel is wanted.
func (c *Client) Deploy(ctx context.Context, systemID string, d engine.Deployment) error {
	if d.Image == "" && d.Kernel != "" {
		series, err := c.series.get(ctx)
		if err != nil {
			return fmt.Errorf("cannot tell MAAS's default image, which the kernel %s is for: %w", d.Kernel, err)
		}
		d.Image = series
	}
	r := post("deploy", machineRoute, systemID).set("distro_series", d.Image).set("hwe_kernel", d.Kernel)
	if len(d.UserData) > 0 {
		encoded := base64.StdEncoding.EncodeToString(d.UserData)
		r.put("user_data", encoded)
		r.secrets = []string{string(d.UserData), encoded}
	}
	if d.Ephemeral {
		r.put("ephemeral_deploy", "true")
	}
	return c.begin(ctx, systemID, engine.PhaseDeploying, r)
}

// Abort implements engine.Machines.
func (c *Client) Abort(ctx context.Context, systemID string) error {
	return c.write(ctx, systemID, post("abort", machineRoute, systemID), nil)
}

// Release implements engine.Machines. It never sends force, which would delete
// a VM host and all machines on it.
func (c *Client) Release(ctx context.Context, systemID string, erase engine.Erase) error {
	r := post("release", machineRoute, systemID).put("erase", strconv.FormatBool(erase != engine.EraseNone))
	switch erase {
	case engine.EraseQuick:
		r.put("quick_erase", "true")
	case engine.EraseSecure:
		r.put("secure_erase", "true")
	}
	return c.begin(ctx, systemID, engine.PhaseReleasing, r)
}

// begin sends a request that sends a machine into a phase, which begins with
// MAAS's answer.
func (c *Client) begin(ctx context.Context, systemID string, phase engine.Phase, r *request) error {
	err := c.write(ctx, systemID, r, nil)
	if err == nil {
		c.poller.pace.begin(systemID, phase)
	}
	return err
}

// Power implements engine.Machines.
func (c *Client) Power(ctx context.Context, systemID string) (string, error) {
	r := get(machineRoute, systemID).op("query_power_state")
	r.slow = true
	var answer struct {
		State string `json:"state"`
	}
	err := c.write(ctx, systemID, r, &answer) // MAAS notes the state in the machine
	return answer.State, err
}

// PowerOff implements engine.Machines.
func (c *Client) PowerOff(ctx context.Context, systemID string) error {
	r := post("power_off", machineRoute, systemID)
	r.slow = true
	return c.write(ctx, systemID, r, nil)
}
