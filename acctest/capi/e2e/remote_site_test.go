package e2e

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/acctest/capi/workload"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// Variables for what only clusters need of a MAAS; package realmaas has the
// others.
const (
	kubernetesImageVariable   = "MAASLXD_ACC_KUBERNETES_IMAGE"
	kubernetesVersionVariable = "MAASLXD_ACC_KUBERNETES_VERSION"
	cniVariable               = "MAASLXD_ACC_KUBERNETES_CNI"
)

// remoteSite is a MAAS in a process of its own, or a real one. The tests reach
// it by its API, and its guests by the command that simulates them. It shows
// the machines of one run.
type remoteSite struct {
	api    *realmaas.Client
	drive  realmaas.Drive
	isOurs func(realmaas.Machine) bool

	mu       sync.Mutex
	userData map[string][]byte // of Deployed machines; the command is asked once for each
	off      map[string]bool   // the machines that a test has turned off
}

var _ workload.Site = (*remoteSite)(nil)

// Machines are those of the run. A simulated guest runs from its deployment to
// its release, unless a test has turned it off.
func (d *remoteSite) Machines(ctx context.Context) ([]sim.Machine, error) {
	all, err := d.api.Machines(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var seen []sim.Machine
	for _, m := range all {
		if !d.isOurs(m) {
			continue
		}
		if m.StatusName != "Deployed" {
			delete(d.userData, m.SystemID) // the next deployment has its own user-data
		}
		out := sim.Machine{
			SystemID: m.SystemID, Hostname: m.Hostname, StatusName: m.StatusName, Owner: m.Owner, Zone: m.Zone.Name, Pool: m.Pool.Name,
			PowerState: m.PowerState, IPAddresses: m.IPAddresses, Cores: m.Cores, MemoryMiB: m.MemoryMiB, Description: m.Description,
		}
		if d.drive.HasCommand() {
			out.PowerState = map[bool]string{true: "off", false: "on"}[d.off[m.SystemID]]
		}
		if m.VMHost != nil {
			out.Host = m.VMHost.Name
		}
		if m.Series != "" {
			out.Image = m.OSystem + "/" + m.Series
		}
		seen = append(seen, out)
	}
	return seen, nil
}

// UserData asks the command once for each deployment.
func (d *remoteSite) UserData(ctx context.Context, systemID string) ([]byte, error) {
	d.mu.Lock()
	data, known := d.userData[systemID]
	d.mu.Unlock()
	if known {
		return data, nil
	}
	text, err := d.drive.Run(ctx, realmaas.VerbUserData, systemID)
	if err != nil || text == "" {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.userData[systemID] = []byte(text)
	return d.userData[systemID], nil
}

// Resolve reads MAAS's DNS resources.
func (d *remoteSite) Resolve(ctx context.Context, name string) (addresses []string, err error) {
	records, err := dnsRecords(ctx, d.api)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.FQDN == name {
			for _, a := range r.Addresses {
				addresses = append(addresses, a.IP)
			}
		}
	}
	return addresses, nil
}

// dnsRecord is a DNS resource of MAAS.
type dnsRecord struct {
	ID        int    `json:"id"`
	FQDN      string `json:"fqdn"`
	Addresses []struct {
		IP string `json:"ip"`
	} `json:"ip_addresses"`
}

// dnsRecords lists all DNS resources.
func dnsRecords(ctx context.Context, api *realmaas.Client) (all []dnsRecord, err error) {
	return all, api.GetJSON(ctx, "dnsresources/", &all)
}

// setOff turns a simulated guest off, or lets it run again.
func (d *remoteSite) setOff(systemID string, off bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off[systemID] = off
}

// readRemoteSettings are those of the MAAS that the environment names, or nil.
func readRemoteSettings() (*realmaas.Settings, error) { return realmaas.ReadSettings(os.Getenv) }

// isLentMachine reports whether the environment lends a machine.
func isLentMachine(s *realmaas.Settings, m realmaas.Machine) bool {
	return slices.ContainsFunc(s.Machines, func(name string) bool {
		found, err := realmaas.FindMachine([]realmaas.Machine{m}, name)
		return err == nil && found.SystemID == m.SystemID
	})
}

// remotePollInterval is how often simulated guests are looked at. A real MAAS
// sets the limit.
func remotePollInterval(s *realmaas.Settings) time.Duration { return max(s.Interval, time.Second) }
