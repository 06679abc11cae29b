package realmaas_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestInventory shows each kind of object that a run may leave or remove, in a
// line that names it.
func TestInventory(t *testing.T) {
	t.Parallel()
	m := lentModel()
	m.Subnets = []sim.SubnetModel{{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true}}
	post := func(path string, form url.Values) func(*testing.T, *sim.Server, formPoster) {
		return func(t *testing.T, _ *sim.Server, send formPoster) { send(t, path, form) }
	}
	tags := []string{"rack", "web"}
	cases := map[string]struct {
		act  func(*testing.T, *sim.Server, formPoster)
		want []string
	}{
		"Zone":    {post("zones/", url.Values{"name": {"west"}}), []string{"zones/west"}},
		"Pool":    {post("resourcepools/", url.Values{"name": {"west"}}), []string{"resourcepools/west"}},
		"Domain":  {post("domains/", url.Values{"name": {"west.example"}}), []string{"domains/west.example"}},
		"DNS":     {post("dnsresources/", url.Values{"name": {"www"}, "domain": {"maas"}, "ip_addresses": {"10.77.0.9"}}), []string{"DNS resource www.maas", "reserved address 10.77.0.9"}},
		"Address": {post("ipaddresses/?op=reserve", url.Values{"ip": {"10.77.0.8"}}), []string{"reserved address 10.77.0.8"}},
		"Range":   {post("ipranges/", url.Values{"type": {"reserved"}, "start_ip": {"10.77.0.20"}, "end_ip": {"10.77.0.30"}}), []string{"range 10.77.0.20 to 10.77.0.30, reserved"}},
		"Tag of a machine": {func(t *testing.T, s *sim.Server, _ formPoster) {
			if err := s.EditMachine("node", sim.MachineEdit{Tags: &tags}); err != nil {
				t.Fatal(err)
			}
		}, []string{"machine node has the tag web"}},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			c, s := openMAAS(t, m)
			before := readInventory(t, c)
			tc.act(t, s, func(t *testing.T, path string, form url.Values) {
				if _, err := c.Send(t.Context(), http.MethodPost, path, form); err != nil {
					t.Fatal(err)
				}
			})
			added := slices.DeleteFunc(readInventory(t, c), func(line string) bool { return slices.Contains(before, line) })
			if !slices.Equal(added, tc.want) {
				t.Errorf("new is %q, want %q", added, tc.want)
			}
		})
	}
}

// formPoster sends a form to MAAS.
type formPoster func(t *testing.T, path string, form url.Values)

// TestLXDInventory shows an instance in any project, and the trusted
// certificates.
func TestLXDInventory(t *testing.T) {
	t.Parallel()
	s, l := startListeningLXD(t)
	lines := func() []string {
		all, err := l.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := lines()
	if !slices.ContainsFunc(before, func(line string) bool { return strings.Contains(line, ": trusts certificate ") }) {
		t.Errorf("it trusts nobody: %q", before)
	}
	if err := s.AddInstance(sim.Instance{Host: "alpha", Project: "maas", Name: "precious"}); err != nil {
		t.Fatal(err)
	}
	added := slices.DeleteFunc(lines(), func(line string) bool { return slices.Contains(before, line) })
	if !slices.ContainsFunc(added, func(line string) bool { return strings.HasSuffix(line, ": project maas: instances/precious") }) {
		t.Errorf("new is %q, want the instance precious of project maas", added)
	}
}
