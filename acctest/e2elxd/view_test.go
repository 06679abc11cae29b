package e2elxd

import (
	"net/http"
	"strings"
	"testing"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// profileSummary is what the tests compare of a profile: the pool of its disks,
// the network of its NIC, and its configuration.
type profileSummary map[string]string

// view is an LXD as the holder of the fleet's key sees it.
type view struct {
	// Pools are the drivers by name. No pool has a size of its own: dir never
	// has one, and a container gets no loop device for the others.
	// TestRealStorage checks sizes.
	Pools    map[string]string
	Networks map[string]string         // addresses of the networks that LXD made, by name
	Limits   map[string]string         // of the project
	Profiles map[string]profileSummary // of the project
}

// readViewOverHTTPS reads the host's LXD over HTTPS, with the fleet's key.
func (w *world) readViewOverHTTPS(t *testing.T, host engine.Host) view {
	t.Helper()
	if err := waitForPort(strings.TrimPrefix(host.Address, "https://"), shortTimeout); err != nil {
		t.Fatal(err)
	}
	conn, err := client.ConnectLXDWithContext(t.Context(), host.Address, &client.ConnectionArgs{
		TLSClientCert: w.key.Certificate, TLSClientKey: w.key.Key, InsecureSkipVerify: true, // the prober compares the fingerprint
	})
	if err != nil {
		t.Fatal(err)
	}
	server, _, err := conn.GetServer()
	if err != nil || server.Auth != "trusted" {
		t.Fatalf("the LXD takes the fleet's certificate for %q, %v", server.Auth, err)
	}
	if err := conn.CreateProject(api.ProjectsPost{Name: "other"}); !api.StatusErrorCheck(err, http.StatusForbidden) {
		t.Errorf("the fleet's certificate is not restricted: a project could be made, %v", err)
	}
	if _, err := conn.UseProject("default").GetInstanceNames(api.InstanceTypeAny); !api.StatusErrorCheck(err, http.StatusForbidden) {
		t.Errorf("the fleet's certificate sees another project: %v", err)
	}
	return readView(t, conn.UseProject("maas"))
}

// readView reads everything that the client may see.
func readView(t *testing.T, conn client.InstanceServer) view {
	t.Helper()
	v := view{Pools: map[string]string{}, Profiles: map[string]profileSummary{}}
	pools, err := conn.GetStoragePools()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pools {
		v.Pools[p.Name] = p.Driver
	}
	networks, err := conn.GetNetworks()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks {
		if n.Managed {
			v.Networks = withEntry(v.Networks, n.Name, networkAddress(t, conn, n.Name))
		}
	}
	project, _, err := conn.GetProject("maas")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range project.Config {
		if strings.HasPrefix(key, "limits.") {
			v.Limits = withEntry(v.Limits, key, value)
		}
	}
	profiles, err := conn.GetProfiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		v.Profiles[p.Name] = summarizeProfile(p)
	}
	return v
}

// networkAddress is the IPv4 address of a network on the host. A restricted
// certificate may not read the network's configuration.
func networkAddress(t *testing.T, conn client.InstanceServer, name string) string {
	t.Helper()
	state, err := conn.GetNetworkState(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range state.Addresses {
		if a.Family == "inet" {
			return a.Address + "/" + a.Netmask
		}
	}
	return ""
}

// summarizeProfile is the profile without what all profiles have.
func summarizeProfile(p api.Profile) profileSummary {
	d := profileSummary{}
	for _, each := range p.Devices {
		for _, key := range []string{"pool", "network", "nictype", "parent"} {
			if each[key] != "" {
				d[key] = each[key]
			}
		}
	}
	for key, value := range p.Config {
		d[key] = value
	}
	return d
}

func withEntry(to map[string]string, key, value string) map[string]string {
	if to == nil {
		to = map[string]string{}
	}
	to[key] = value
	return to
}
