package realmaas_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// TestWhyNotRefresh allows a refresh only where MAAS and LXD agree.
func TestWhyNotRefresh(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		act    func(*testing.T, *sim.Server)
		want   string // part of the reason; empty: a refresh is allowed
	}{
		"Agree": {"Each instance is a machine, and each machine has one.", func(*testing.T, *sim.Server) {}, ""},
		"Foreign": {"MAAS would take somebody's instance.", func(t *testing.T, s *sim.Server) {
			if err := s.AddInstance(sim.Instance{Host: "alpha", Project: onlyInstanceProject(t, s), Name: "precious", MACs: []string{"00:16:3e:00:00:99"}}); err != nil {
				t.Fatal(err)
			}
		}, "precious"},
		"OtherProject": {"MAAS looks at one project.", func(t *testing.T, s *sim.Server) {
			if err := s.AddInstance(sim.Instance{Host: "alpha", Project: "other", Name: "precious", MACs: []string{"00:16:3e:00:00:99"}}); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"Missing": {"MAAS would forget somebody's machine.", func(t *testing.T, s *sim.Server) {
			if err := s.RemoveInstance("alpha", onlyInstanceProject(t, s), "web-1"); err != nil {
				t.Fatal(err)
			}
		}, "web-1"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s, l := startListeningLXD(t)
			c, err := realmaas.NewClient(s.URL, s.APIKey())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Send(t.Context(), http.MethodPost, "vm-hosts/1/?op=compose", url.Values{"hostname": {"web-1"}, "skip_commissioning": {"true"}}); err != nil {
				t.Fatal(err)
			}
			tc.act(t, s)
			why, err := c.WhyNotRefresh(t.Context(), 1, []realmaas.LXD{{Address: "https://192.0.2.1:8443"}, l})
			if err != nil || (why == "") != (tc.want == "") || !strings.Contains(why, tc.want) {
				t.Errorf("%s\ngot %q, %v, want it to tell %q", tc.reason, why, err, tc.want)
			}
			if why, err := c.WhyNotRefresh(t.Context(), 1, nil); err != nil || !strings.Contains(why, realmaas.LXDVariable) {
				t.Errorf("nothing can be looked into, and it says %q, %v", why, err)
			}
		})
	}
}

// onlyInstanceProject is the project of the only instance.
func onlyInstanceProject(t *testing.T, s *sim.Server) string {
	t.Helper()
	all := s.Instances()
	if len(all) != 1 {
		t.Fatalf("there are the instances %+v", all)
	}
	return all[0].Project
}
