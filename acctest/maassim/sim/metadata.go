package sim

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// metadataRoot is where deployed machines ask for their metadata, and report.
const metadataRoot = "/MAAS/metadata/"

// metadataVersions are those that MAAS serves (metadataserver/api.py).
var metadataVersions = []string{"latest", "2012-03-01"}

// metadata answers a machine, which is known by the credentials that the
// installer left on its disk. Nothing of it is in the journal.
func (s *Sim) metadata(r *http.Request) reply {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return badText(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, denied := s.world.machineAsking(r)
	if denied != nil {
		return *denied
	}
	path := strings.TrimPrefix(r.URL.Path, metadataRoot)
	if id, isStatus := strings.CutPrefix(path, "status/"); isStatus && r.Method == http.MethodPost {
		return m.takeStatus(strings.Trim(id, "/"), body)
	}
	version, item, _ := strings.Cut(path, "/")
	if !slices.Contains(metadataVersions, version) {
		return refused(http.StatusNotFound, "Unknown metadata version: "+version)
	}
	if r.Method != http.MethodGet {
		return reply{status: http.StatusMethodNotAllowed, kind: typeHTML, header: apiHeader()}
	}
	return m.metadataItem(strings.TrimSuffix(item, "/"))
}

// machineKey are the credentials of a machine, as those of a user.
func (m *machine) machineKey() *user {
	return &user{name: m.systemID, consumer: "nodeConsumer" + m.systemID, token: "nodeToken" + m.systemID, secret: "nodeSecret" + m.systemID}
}

// machineAsking finds the machine by its credentials.
func (w *world) machineAsking(r *http.Request) (*machine, *reply) {
	c := &call{w: w, method: r.Method, query: r.URL.Query()}
	consumer := oauthParams(r.Header.Get("Authorization"))["oauth_consumer_key"]
	for _, m := range sortedMachines(w.machines) {
		if m.machineKey().consumer == consumer {
			_, denied := w.authenticateAs(c, r, []*user{m.machineKey()})
			return m, denied
		}
	}
	_, denied := w.authenticateAs(c, r, nil)
	return nil, denied
}

// metadataItem is a value that cloud-init's data source for MAAS asks for.
func (m *machine) metadataItem(item string) reply {
	switch item {
	case "":
		return listing("maas-commissioning-scripts", "meta-data", "user-data")
	case "meta-data":
		return listing("instance-id", "local-hostname", "public-keys", "vendor-data", "x509")
	case "meta-data/instance-id":
		return plain(m.systemID)
	case "meta-data/local-hostname":
		return plain(m.hostname + "." + m.domain.name)
	case "meta-data/public-keys":
		return plain("")
	case "meta-data/vendor-data":
		return plain(m.vendorDocument())
	case "user-data":
		return m.giveUserData()
	}
	return refused(http.StatusNotFound, "Unknown metadata attribute: "+item)
}

func plain(text string) reply {
	return reply{status: http.StatusOK, kind: typePlain, body: []byte(text)}
}

func listing(names ...string) reply { return plain(strings.Join(names, "\n")) }

// giveUserData hands the user-data out. A machine that asks for it while it is
// Deploying is Deployed from then on (metadataserver/api.py,
// UserDataHandler.read), whatever becomes of it.
func (m *machine) giveUserData() reply {
	if m.status == StatusDeploying && m.firstBoot == BootReal {
		m.passDeployment()
	}
	if m.userData == nil {
		return refused(http.StatusNotFound, "No user data available for this node.")
	}
	return reply{status: http.StatusOK, kind: "application/octet-stream", body: slices.Clone(m.userData)}
}

// vendorDocument is the cloud-config that MAAS adds to user-data, in its
// wrapper: its time servers, and what the model says.
func (m *machine) vendorDocument() string {
	config := map[string]any{"ntp": map[string]any{"servers": []string{}, "pools": []string{}}}
	if err := yaml.Unmarshal([]byte(m.vendorData), &config); err != nil {
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
