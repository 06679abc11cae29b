package setup

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// Inspection is what an LXD shows. Fields that a restricted client may not see are empty.
type Inspection struct {
	Version     string
	Fingerprint string // of the server's certificate
	RunsVMs     bool   // also false if the client may not see it
	// TooNewForMAAS reports that MAAS cannot compose VMs on this version.
	TooNewForMAAS bool
	Cores         int64
	MemoryMiB     int64
	Pools         []InspectedPool
	Networks      []InspectedNetwork
	Project       string
	HasProject    bool
	Instances     []string // in the project
	// Trusted has the client certificates (PEM) that may use the project. A restricted
	// client sees only its own.
	Trusted []string
}

// InspectedPool is a storage pool.
type InspectedPool struct {
	Name, Driver, Status  string
	TotalBytes, FreeBytes uint64
}

// InspectedNetwork is a network of LXD, or an interface of its machine.
type InspectedNetwork struct {
	Name, Type string
	Managed    bool
	MAC        string // empty if it cannot be seen
}

// Inspect inspects an LXD over a connection, as a client of a project. It changes nothing.
// A missing project is no error.
func Inspect(ctx context.Context, conn client.InstanceServer, project string) (Inspection, error) {
	a := applier{ctx: ctx, conn: conn}
	server, _, err := conn.GetServer()
	if err != nil {
		return Inspection{}, a.callError("LXD", err)
	}
	seen := Inspection{
		Version: server.Environment.ServerVersion, Fingerprint: server.Environment.CertificateFingerprint,
		RunsVMs: runsVMs(server), TooNewForMAAS: isTooNewForMAAS(server.Environment.ServerVersion), Project: project,
	}
	for _, read := range []struct {
		what string
		do   func(client.InstanceServer, *Inspection) error
	}{{"resources", readResources}, {"project " + project, readProject}, {"storage pools", readPools}, {"networks", readNetworks}, {"certificates", readTrusted}} {
		if err := read.do(conn, &seen); err != nil {
			return seen, a.callError(read.what, err)
		}
	}
	return seen, nil
}

// InspectEndpoint inspects the LXD of an endpoint over the network. The errors are those of
// the prober's Server.
func InspectEndpoint(ctx context.Context, prober *lxd.Prober, e engine.Endpoint, c engine.Credentials, pinned string) (Inspection, error) {
	server, err := prober.Server(ctx, e, c, pinned)
	if err != nil {
		return Inspection{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, prober.Timeout())
	defer cancel()
	conn, err := prober.Connect(ctx, e, c, server.Fingerprint)
	if err != nil {
		return Inspection{}, err
	}
	key, err := fleetkey.Parse(c.Certificate, c.Key, time.Now())
	if err != nil {
		return Inspection{}, err
	}
	seen, err := Inspect(ctx, conn, cmp.Or(e.Project, api.ProjectDefaultName))
	seen.Trusted = []string{key.Certificate}
	return seen, err
}

// isTooNewForMAAS reports whether MAAS cannot compose on a version. The first two numbers
// of the version are a track of the snap.
func isTooNewForMAAS(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	return version != "" && cloudinit.IsTooNewForMAAS(strings.Join(parts[:min(2, len(parts))], "."))
}

func readResources(conn client.InstanceServer, seen *Inspection) error {
	resources, err := conn.GetServerResources()
	if err != nil {
		return err
	}
	seen.Cores, seen.MemoryMiB = int64(resources.CPU.Total), int64(resources.Memory.Total>>20)
	return nil
}

func readProject(conn client.InstanceServer, seen *Inspection) error {
	_, _, err := conn.GetProject(seen.Project)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	seen.HasProject = true
	seen.Instances, err = conn.UseProject(seen.Project).GetInstanceNames(api.InstanceTypeAny)
	slices.Sort(seen.Instances)
	return err
}

func readPools(conn client.InstanceServer, seen *Inspection) error {
	pools, err := conn.GetStoragePools()
	if err != nil {
		return err
	}
	for _, pool := range pools {
		p := InspectedPool{Name: pool.Name, Driver: pool.Driver, Status: pool.Status}
		space, err := conn.GetStoragePoolResources(pool.Name)
		if err == nil {
			p.TotalBytes, p.FreeBytes = space.Space.Total, space.Space.Total-min(space.Space.Used, space.Space.Total)
		} else if _, answered := api.StatusErrorMatch(err); !answered {
			return err
		}
		seen.Pools = append(seen.Pools, p)
	}
	return nil
}

// readNetworks reads within the project, because a restricted client may read only there.
func readNetworks(conn client.InstanceServer, seen *Inspection) error {
	in := conn
	if seen.HasProject {
		in = conn.UseProject(seen.Project)
	}
	networks, err := in.GetNetworks()
	if err != nil {
		return err
	}
	for _, network := range networks {
		n := InspectedNetwork{Name: network.Name, Type: network.Type, Managed: network.Managed}
		state, err := in.GetNetworkState(network.Name)
		if err == nil {
			n.MAC = strings.ToLower(state.Hwaddr)
		} else if _, answered := api.StatusErrorMatch(err); !answered {
			return err
		}
		seen.Networks = append(seen.Networks, n)
	}
	return nil
}

// readTrusted lists the certificates that may use the project.
func readTrusted(conn client.InstanceServer, seen *Inspection) error {
	certificates, err := conn.GetCertificates()
	if api.StatusErrorCheck(err, http.StatusForbidden) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list the certificates that LXD trusts: %w", err)
	}
	for _, c := range certificates {
		if c.Type == api.CertificateTypeClient && (!c.Restricted || slices.Contains(c.Projects, seen.Project)) {
			seen.Trusted = append(seen.Trusted, c.Certificate)
		}
	}
	return nil
}
