package sim_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestInvalidModel: the error about an invalid model names the field.
func TestInvalidModel(t *testing.T) {
	t.Parallel()
	host := func(change func(*sim.HostModel)) sim.Model {
		m := oneHost()
		change(&m.Hosts[0])
		return m
	}
	cases := map[string]struct {
		model sim.Model
		want  string
	}{
		"Version":          {sim.Model{MAASVersion: "2.9"}, "maas_version"},
		"Key":              {sim.Model{AdminKey: "a:b"}, "admin_key"},
		"SameToken":        {sim.Model{AdminKey: "a:b:c", UserKey: "x:b:y"}, "user_key"},
		"Zone":             {sim.Model{Zones: []string{"default"}}, "zones"},
		"Image":            {sim.Model{Images: []string{"noble"}}, "images"},
		"Subnet":           {sim.Model{Subnets: []sim.SubnetModel{{CIDR: "10.0.0.1/24"}}}, "subnets[0].cidr"},
		"Gateway":          {sim.Model{Subnets: []sim.SubnetModel{{CIDR: "10.0.0.0/24", Gateway: "10.1.0.1"}}}, "subnets[0].gateway"},
		"FirstBoots":       {sim.Model{Latency: sim.Latency{FirstBoot: 2, FirstBootMost: 1}}, "first_boot_most"},
		"Latency":          {sim.Model{Latency: sim.Latency{Deploy: -1}}, "latency.deploy"},
		"Cores":            {host(func(h *sim.HostModel) { h.Cores = 0 }), "hosts[0].cores"},
		"HostZone":         {host(func(h *sim.HostModel) { h.Zone = "az9" }), "hosts[0].zone"},
		"HostSubnet":       {host(func(h *sim.HostModel) { h.Subnets = []string{"no"} }), "hosts[0].subnets"},
		"Pools":            {host(func(h *sim.HostModel) { h.StoragePools[1].Name = "default" }), "hosts[0].storage_pools"},
		"HostArchitecture": {host(func(h *sim.HostModel) { h.Architecture = "arm64" }), "hosts[0].architecture"},
		"ImageUnknown":     {sim.Model{ImageArchitectures: map[string][]string{"ubuntu/focal": {"arm64"}}}, "image_architectures"},
		"MachineName":      {sim.Model{Machines: []sim.MachineModel{{Hostname: "a b"}}}, "machines[0].hostname"},
		"Status":           {sim.Model{Machines: []sim.MachineModel{{Hostname: "a", Status: "Deploying"}}}, "machines[0].status"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := sim.New(tc.model); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error that names %s, got %v", tc.want, err)
			}
		})
	}
}

// TestModelFile writes a model and reads it back.
func TestModelFile(t *testing.T) {
	t.Parallel()
	m := sim.DefaultModel()
	m.Latency = sim.Latency{Compose: 300 * time.Millisecond, PowerOff: time.Second}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back, err := sim.ReadModel(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		`{"zone": ["a"]}`:                "zone",
		`{"latency": {"compse": "1s"}}`:  "compse",
		`{"latency": {"compose": "1x"}}`: "compose",
		`{} {}`:                          "there is more text after it",
		`{"zones": "a"}`:                 "zones",
	} {
		if _, err := sim.ReadModel(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", text, want, err)
		}
	}
}

// TestDefaultModelTakesTime deletes a VM while it starts, in the command's default world.
func TestDefaultModelTakesTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newMAASClient(t, sim.DefaultModel())
		id := c.compose("hostname=x")
		wantStatus(t, c.call("DELETE", "machines/"+id+"/"), 204, "")
		if diff := cmp.Diff([]string{"x"}, leakedInstances(c.sim)); diff != "" {
			t.Errorf("leaks (-want +got):\n%s", diff)
		}
	})
}
