package maas

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

const machineRoute = "machines/{id}/"

// Update implements engine.Machines. In this call MAAS accepts zone, pool and domain by
// name.
func (c *Machines) Update(ctx context.Context, systemID string, u engine.MachineUpdate) error {
	r := api.NewRequest(http.MethodPut, machineRoute, systemID)
	fields := map[string]*string{
		"hostname": u.Hostname, "description": u.Description,
		"zone": u.Zone, "pool": u.Pool, "domain": u.Domain,
	}
	for name, value := range fields {
		if value != nil {
			r.Put(name, *value)
		}
	}
	if u.SwapBytes != nil {
		r.Put("swap_size", strconv.FormatInt(*u.SwapBytes, 10))
	}
	if r.Form == nil && r.Err == nil {
		return nil
	}
	return c.writeMachine(ctx, systemID, r, nil)
}

// SetInterfaceAddress implements engine.Machines. MAAS answers 404 when a fixed address is
// taken (api/interfaces.py, link_subnet), which is returned as ErrConflict. The caller has
// checked that the machine and the interface exist.
func (c *Machines) SetInterfaceAddress(ctx context.Context, systemID string, interfaceID int, subnet engine.Subnet, ip string) error {
	mode := engine.LinkStatic
	if ip == "" {
		mode = engine.LinkAuto
	}
	return c.LinkInterface(ctx, systemID, interfaceID, engine.LinkRequest{Mode: mode, Subnet: subnet, IP: ip})
}

// LinkInterface implements engine.Machines.
func (c *Machines) LinkInterface(ctx context.Context, systemID string, interfaceID int, l engine.LinkRequest) error {
	r := api.NewPost("link_subnet", interfaceRoute, systemID, strconv.Itoa(interfaceID)).Put("mode", strings.ToUpper(l.Mode))
	if l.Subnet.ID != 0 {
		defer c.addresses.ranges.drop(l.Subnet.ID)
		r.Put("subnet", strconv.Itoa(l.Subnet.ID))
	}
	r.Set("ip_address", l.IP)
	if l.DefaultGateway {
		r.Put("default_gateway", "true")
	}
	if !l.KeepOthers {
		r.Put("force", "true")
	}
	err := c.writeMachine(ctx, systemID, r, nil)
	if e, ok := api.AsError(err); ok && e.Kind == engine.ErrNotFound && l.IP != "" { // MAAS's 404 for an address that is in use
		e.Kind = engine.ErrConflict
		e.Hint = "Choose an address that MAAS does not list as used on " + l.Subnet.CIDR + "."
	}
	return err
}

// Commission implements engine.Machines.
func (c *Machines) Commission(ctx context.Context, systemID string) error {
	r := api.NewPost("commission", machineRoute, systemID).Put("testing_scripts", "none")
	return c.startPhase(ctx, systemID, engine.PhaseCommissioning, r)
}

// Deploy implements engine.Machines. The image is sent as distro_series, which accepts
// "ubuntu/noble"; MAAS ignores osystem. MAAS also ignores a kernel without a series. So if
// only a kernel is wanted, MAAS's default image is sent too.
func (c *Machines) Deploy(ctx context.Context, systemID string, d engine.Deployment) error {
	if d.Image == "" && d.Kernel != "" {
		series, err := c.catalog.series.Get(ctx)
		if err != nil {
			return fmt.Errorf("cannot read MAAS's default image, which kernel %s needs: %w", d.Kernel, err)
		}
		d.Image = series
	}
	r := api.NewPost("deploy", machineRoute, systemID).Set("distro_series", d.Image).Set("hwe_kernel", d.Kernel)
	if len(d.UserData) > 0 {
		encoded := base64.StdEncoding.EncodeToString(d.UserData)
		r.Put("user_data", encoded)
		r.Secrets = []string{string(d.UserData), encoded}
	}
	if d.Ephemeral {
		r.Put("ephemeral_deploy", "true")
	}
	if d.HardwareSync {
		r.Put("enable_hw_sync", "true")
	}
	return c.startPhase(ctx, systemID, engine.PhaseDeploying, r)
}

// Abort implements engine.Machines.
func (c *Machines) Abort(ctx context.Context, systemID string) error {
	return c.writeMachine(ctx, systemID, api.NewPost("abort", machineRoute, systemID), nil)
}

// Release implements engine.Machines. It never sends force, which would delete a VM host
// and all machines on it.
func (c *Machines) Release(ctx context.Context, systemID string, erase engine.Erase) error {
	r := api.NewPost("release", machineRoute, systemID).Put("erase", strconv.FormatBool(erase != engine.EraseNone))
	switch erase {
	case engine.EraseQuick:
		r.Put("quick_erase", "true")
	case engine.EraseSecure:
		r.Put("secure_erase", "true")
	}
	return c.startPhase(ctx, systemID, engine.PhaseReleasing, r)
}

// startPhase sends a request that starts a phase of a machine. The phase begins with MAAS's
// answer.
func (c *Machines) startPhase(ctx context.Context, systemID string, phase engine.Phase, r *api.Request) error {
	err := c.writeMachine(ctx, systemID, r, nil)
	if err == nil {
		c.shared.NotePhaseStart(systemID, phase)
	}
	return err
}
