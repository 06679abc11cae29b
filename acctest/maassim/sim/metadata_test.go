package sim

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/metadata"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// startBootable starts a MAAS with a Deploying machine that an outside program boots.
func startBootable(t *testing.T) (*Server, Machine) {
	t.Helper()
	s := StartServer(t, Model{Machines: []MachineModel{{Hostname: "m1", Cores: 4, MemoryMiB: 8192, FirstBoot: BootReal, VendorData: "runcmd: [sync]\n"}}})
	m := s.Machines()[0]
	s.keeper.Lock()
	defer s.keeper.Unlock()
	real := s.world.Machines[m.SystemID]
	real.UserData, real.Osystem, real.Series = []byte("#cloud-config\n"), "ubuntu", "noble"
	lifecycle.AcquireMachine(real, s.world.Users[0], "", "")
	lifecycle.DeployMachine(s.world, real, s.world.Users[0], "")
	return s, m
}

// asMachine sends a request with the credentials of a machine, as cloud-init
// does.
func asMachine(t *testing.T, s *Server, systemID, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/metadata/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	key := metadata.Credentials(&world.Machine{SystemID: systemID})
	r.Header.Set("Authorization", fmt.Sprintf(
		`OAuth oauth_nonce="%d", oauth_timestamp="%d", oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s"`,
		time.Now().UnixNano(), time.Now().Unix(), key.Consumer, key.Key, key.Secret))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	s, m := startBootable(t)
	cases := map[string]struct {
		reason string
		path   string
		status int
		want   string
	}{
		"Hostname": {"The name with its domain.", "2012-03-01/meta-data/local-hostname", 200, "m1.maas"},
		"Instance": {"The id changes with each deployment.", "2012-03-01/meta-data/instance-id", 200, m.SystemID},
		"Vendor":   {"In MAAS's wrapper, with what the model adds.", "2012-03-01/meta-data/vendor-data", 200, "runcmd"},
		"Unknown":  {"An unknown item does not exist.", "2012-03-01/meta-data/nosuch", 404, "nosuch"},
		"Version":  {"An unknown version does not exist.", "2009-01-01/user-data", 404, "2009-01-01"},
	}
	for name, tc := range cases {
		if status, text := asMachine(t, s, m.SystemID, http.MethodGet, tc.path, ""); status != tc.status || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %s: got %d %q, want %d and %q", name, tc.reason, status, text, tc.status, tc.want)
		}
	}
	if status, _ := asMachine(t, s, "nosuch", http.MethodGet, "2012-03-01/user-data", ""); status != http.StatusUnauthorized {
		t.Errorf("a stranger got %d", status)
	}
	if got := s.Machines()[0].StatusName; got != "Deploying" {
		t.Errorf("the machine is %s before it has asked for its user-data", got)
	}
	if status, text := asMachine(t, s, m.SystemID, http.MethodGet, "2012-03-01/user-data", ""); status != 200 || text != "#cloud-config\n" {
		t.Errorf("user-data: %d %q", status, text)
	}
	if got := s.Machines()[0].StatusName; got != "Deployed" {
		t.Errorf("the machine is %s after it has asked for its user-data", got)
	}
}

// TestMetadataStatus: beginnings and failures become events. A failed stage of a Deploying
// machine ends the deployment.
func TestMetadataStatus(t *testing.T) {
	t.Parallel()
	const failed = `{"event_type":"finish","origin":"cloudinit","name":%q,"description":"it broke","result":"FAIL","timestamp":1.5}`
	cases := map[string]struct {
		reason   string
		deployed bool
		body     string
		status   int
		machine  string
		event    string
	}{
		"Start":     {"The beginning of a stage becomes an event.", false, `{"event_type":"start","origin":"cloudinit","name":"init","description":"it began"}`, 204, "Deploying", "Node installation: 'cloudinit' it began"},
		"Success":   {"The success of a stage becomes no event.", false, `{"event_type":"finish","origin":"cloudinit","name":"init","description":"it ended","result":"SUCCESS"}`, 204, "Deploying", ""},
		"Step":      {"A failed step does not end the deployment.", false, fmt.Sprintf(failed, "init-network/config-ssh"), 204, "Deploying", "Node installation failure: 'cloudinit' it broke"},
		"Stage":     {"A failed stage ends the deployment.", false, fmt.Sprintf(failed, "init-network"), 204, "Failed deployment", "Node installation failure: 'cloudinit' it broke"},
		"FirstBoot": {"A failed stage does not change a Deployed machine.", true, fmt.Sprintf(failed, "modules-final"), 204, "Deployed", "Node post-installation failure: 'cloudinit' it broke"},
		"Missing":   {"Four keys are needed.", false, `{"event_type":"start","origin":"cloudinit"}`, 400, "Deploying", ""},
		"NotASCII":  {"MAAS takes ASCII only.", false, `{"event_type":"start","origin":"é","name":"x","description":"y"}`, 400, "Deploying", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := startBootable(t)
			if tc.deployed {
				asMachine(t, s, m.SystemID, http.MethodGet, "2012-03-01/user-data", "")
			}
			before := lastEvent(s)
			if status, text := asMachine(t, s, m.SystemID, http.MethodPost, "status/"+m.SystemID, tc.body); status != tc.status {
				t.Errorf("%s: got %d %s, want %d", tc.reason, status, text, tc.status)
			}
			if got := s.Machines()[0].StatusName; got != tc.machine {
				t.Errorf("%s: the machine is %s, want %s", tc.reason, got, tc.machine)
			}
			s.keeper.Lock()
			defer s.keeper.Unlock()
			got := ""
			for _, e := range s.world.Machines[m.SystemID].Events {
				if e.ID > before && strings.Contains(e.Text, "cloudinit") {
					got = e.Kind + ": " + e.Text
				}
			}
			if got != tc.event {
				t.Errorf("%s: the event is %q, want %q", tc.reason, got, tc.event)
			}
		})
	}
}

func lastEvent(s *Server) int {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	return s.world.LastID["event"]
}

// TestInstalledMachine: a machine finds its metadata service, and its network as MAAS has it.
func TestInstalledMachine(t *testing.T) {
	t.Parallel()
	s, m := startBootable(t)
	files, err := s.InstalledFiles("m1", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for path, words := range map[string][]string{
		metadata.DatasourceFile: {"datasource_list: [ MAAS ]\n", "metadata_url: " + s.URL + "/metadata/", "/metadata/status/" + m.SystemID, "type: webhook"},
		metadata.NetworkFile:    {"version: 2", "eth0:"},
	} {
		for _, word := range words {
			if !strings.Contains(files[path], word) {
				t.Errorf("%s has no %q:\n%s", path, word, files[path])
			}
		}
	}
	if _, err := s.InstalledFiles("nosuch", s.URL); err == nil {
		t.Error("what nobody has was installed")
	}
}
