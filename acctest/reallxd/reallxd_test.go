package reallxd_test

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/reallxd"
)

// lender lends LXDs that can start VMs to all tests here.
var lender = func() *reallxd.Lender {
	l := reallxd.NewLender(func(what string) { fmt.Println(what) })
	l.StartsVMs = true
	return l
}()

// newMAASWithRealHost is a simulated MAAS whose host h1 has a real LXD.
func newMAASWithRealHost(t *testing.T, change ...func(*sim.Model)) *sim.Server {
	t.Helper()
	if err := reallxd.CheckAvailable(); err != nil {
		t.Skip(err)
	}
	m := sim.Model{
		MAASVersion: sim.Version37, LXDListen: sim.LXDListenAuto, Subnets: []sim.SubnetModel{{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true}, {Name: "dmz", CIDR: "10.78.0.0/24", DHCP: true}},
		Hosts: []sim.HostModel{{
			Name: "h1", Cores: 12, MemoryMiB: 32768, Project: "maas",
			StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 200}, {Name: "fast", SizeGB: 50}},
		}},
	}
	for _, c := range change {
		c(&m)
	}
	return sim.StartServer(t, m, sim.WithLXDs(lender))
}

// queryLXD asks the real LXD of a host as its administrator.
func queryLXD[T any](t *testing.T, host, path string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(lender.LastServer(host).LXC(t, "query", path)), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestRealHost looks at what an LXD sees of its host, and at its own
// certificate through the host's address. Nothing of it may be left at the end.
func TestRealHost(t *testing.T) {
	s := newMAASWithRealHost(t)
	l := s.LXDs()[0]
	resources := queryLXD[api.Resources](t, "h1", "/1.0/resources")
	if resources.CPU.Total != 12 || resources.Memory.Total != 32768<<20 || resources.Memory.Used != 0 {
		t.Errorf("LXD sees %d cores, and %d of %d bytes of memory used", resources.CPU.Total, resources.Memory.Used, resources.Memory.Total)
	}
	if l.StoragePools[0].Driver != "dir" || l.StoragePools[0].SizeBytes < 200e9 || l.StoragePools[1].SizeBytes < 50e9 {
		t.Errorf("the storage pools are %+v", l.StoragePools)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("https://" + l.Listening[0] + "/1.0")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	block, _ := pem.Decode([]byte(strings.TrimSpace(l.Certificate)))
	if diff := cmp.Diff(block.Bytes, answer.TLS.PeerCertificates[0].Raw); diff != "" {
		t.Errorf("at %s another certificate is shown", l.Listening[0])
	}
	folder := lender.LastServer("h1").Folder
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the files of the LXD are left: %v", err)
	}
}

// TestRealInstances makes and removes instances on both sides. The simulator
// sees those of the LXD, and the LXD those of the simulator.
func TestRealInstances(t *testing.T) {
	s := newMAASWithRealHost(t)
	if err := s.AddInstance(sim.Instance{Host: "h1", Name: "ours", MACs: []string{"00:16:3e:00:00:01"}}); err != nil {
		t.Fatal(err)
	}
	lender.LastServer("h1").LXC(t, "init", "theirs", "--empty", "--vm", "--project", "maas", "--storage", "fast", "--config", "limits.cpu=3", "--config", "limits.memory=1GiB")
	var seen []string
	for _, i := range s.Instances() {
		seen = append(seen, fmt.Sprint(i.Name, i.Cores, i.MemoryMiB, i.MACs))
	}
	if diff := cmp.Diff([]string{"ours1 2048 [00:16:3e:00:00:01]", "theirs3 1024 []"}, seen); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	for _, name := range []string{"ours", "theirs"} {
		if err := s.RemoveInstance("h1", "maas", name); err != nil {
			t.Error(err)
		}
	}
	if left := queryLXD[[]string](t, "h1", "/1.0/instances?project=maas"); len(left) != 0 {
		t.Errorf("left in LXD: %v", left)
	}
}

// TestRealTrust: the LXD itself decides which clients it trusts.
func TestRealTrust(t *testing.T) {
	s := newMAASWithRealHost(t)
	if err := s.TrustCertificate("h1", "no certificate"); err == nil {
		t.Error("a text is trusted")
	}
	if err := s.TrustCertificate("h1", s.LXDs()[0].Certificate); err != nil {
		t.Error(err)
	}
	if trusted := queryLXD[[]string](t, "h1", "/1.0/certificates"); len(trusted) != 2 { // MAAS's certificate, and that of the test
		t.Errorf("trusted: %v", trusted)
	}
	if _, err := s.RenewCertificate("h1"); err == nil {
		t.Error("a real LXD has another certificate")
	}
}
