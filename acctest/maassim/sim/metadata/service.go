package metadata

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Root is the path at which deployed machines read their metadata and report.
const Root = "/MAAS/metadata/"

// metadataVersions are the versions that MAAS serves (metadataserver/api.py).
var metadataVersions = []string{"latest", "2012-03-01"}

// ServeMetadata answers a machine's request below Root. The caller holds the world's lock.
func ServeMetadata(w *world.World, r *http.Request, body []byte) rest.Reply {
	m, denied := machineAsking(w, r)
	if denied != nil {
		return *denied
	}
	path := strings.TrimPrefix(r.URL.Path, Root)
	if id, isStatus := strings.CutPrefix(path, "status/"); isStatus && r.Method == http.MethodPost {
		return receiveStatus(m, strings.Trim(id, "/"), body)
	}
	version, item, _ := strings.Cut(path, "/")
	if !slices.Contains(metadataVersions, version) {
		return rest.ErrorReply(http.StatusNotFound, "Unknown metadata version: "+version)
	}
	if r.Method != http.MethodGet {
		return rest.Reply{Status: http.StatusMethodNotAllowed, Kind: rest.TypeHTML, Header: rest.APIHeader()}
	}
	return metadataItem(m, strings.TrimSuffix(item, "/"))
}

// Credentials are the credentials of a machine.
func Credentials(m *world.Machine) *world.Token {
	return m.Credentials()
}

// machineAsking finds the machine by its credentials.
func machineAsking(w *world.World, r *http.Request) (*world.Machine, *rest.Reply) {
	c := &request.Call{World: w, Method: r.Method, Query: r.URL.Query()}
	consumer := request.OauthParams(r.Header.Get("Authorization"))["oauth_consumer_key"]
	for _, m := range world.SortedMachines(w.Machines) {
		if Credentials(m).Consumer == consumer {
			_, denied := request.AuthenticateAs(w, c, r, []*world.User{{Name: m.SystemID, Tokens: []*world.Token{Credentials(m)}}})
			return m, denied
		}
	}
	_, denied := request.AuthenticateAs(w, c, r, nil)
	return nil, denied
}

// metadataItem is a value that cloud-init's data source for MAAS reads.
func metadataItem(m *world.Machine, item string) rest.Reply {
	switch item {
	case "":
		return listingReply("maas-commissioning-scripts", "meta-data", "user-data")
	case "meta-data":
		return listingReply("instance-id", "local-hostname", "public-keys", "vendor-data", "x509")
	case "meta-data/instance-id":
		return plainReply(m.SystemID)
	case "meta-data/local-hostname":
		return plainReply(m.Hostname + "." + m.Domain.Name)
	case "meta-data/public-keys":
		return plainReply("")
	case "meta-data/vendor-data":
		return plainReply(vendorDocument(m))
	case "user-data":
		return serveUserData(m)
	}
	return rest.ErrorReply(http.StatusNotFound, "Unknown metadata attribute: "+item)
}

func plainReply(text string) rest.Reply {
	return rest.Reply{Status: http.StatusOK, Kind: rest.TypePlain, Body: []byte(text)}
}

func listingReply(names ...string) rest.Reply { return plainReply(strings.Join(names, "\n")) }

// serveUserData returns the user-data. A Deploying machine that reads it is Deployed from
// then on, even if its first boot fails (metadataserver/api.py, UserDataHandler.read).
func serveUserData(m *world.Machine) rest.Reply {
	if m.Status == world.StatusDeploying && m.FirstBoot == world.BootReal {
		lifecycle.PassDeployment(m)
	}
	if m.UserData == nil {
		return rest.ErrorReply(http.StatusNotFound, "No user data available for this node.")
	}
	return rest.Reply{Status: http.StatusOK, Kind: "application/octet-stream", Body: slices.Clone(m.UserData)}
}

// vendorDocument is the cloud-config that MAAS adds to user-data, in MAAS's wrapper. It
// has MAAS's time servers and the model's vendor data.
func vendorDocument(m *world.Machine) string {
	config := map[string]any{"ntp": map[string]any{"servers": []string{}, "pools": []string{}}}
	if err := yaml.Unmarshal([]byte(m.VendorData), &config); err != nil {
		return fmt.Sprintf("# %v\n", err)
	}
	inner, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Sprintf("# %v\n", err)
	}
	outer, err := yaml.Marshal(map[string]string{"cloud-init": "#cloud-config\n" + string(inner)})
	if err != nil {
		return fmt.Sprintf("# %v\n", err)
	}
	return string(outer)
}
