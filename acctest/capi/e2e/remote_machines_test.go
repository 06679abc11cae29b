package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/executable"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// TestDistantMachines shows the machines of the run and no others. A guest is
// off only where a story has turned it off. Its user-data is that of its last
// deployment.
func TestDistantMachines(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{Images: []string{"ubuntu/noble"}, Machines: []sim.MachineModel{{Hostname: "tf-acc-1-a"}, {Hostname: "web"}}})
	api, err := realmaas.NewClient(s.URL, s.APIKey())
	if err != nil {
		t.Fatal(err)
	}
	asked := filepath.Join(t.TempDir(), "asked")
	drive := filepath.Join(t.TempDir(), "drive")
	if err := executable.WriteProgram(drive, "#!/bin/sh\necho $1 >>"+asked+"\necho data\n"); err != nil {
		t.Fatal(err)
	}
	d := &remoteSite{
		api: api, drive: realmaas.Drive{Command: drive}, userData: map[string][]byte{}, off: map[string]bool{},
		isOurs: func(m realmaas.Machine) bool { return strings.HasPrefix(m.Hostname, "tf-acc-1-") },
	}
	look := func() sim.Machine {
		t.Helper()
		all, err := d.Machines(t.Context())
		if err != nil || len(all) != 1 || all[0].Hostname != "tf-acc-1-a" {
			t.Fatalf("it shows %+v, %v", all, err)
		}
		return all[0]
	}
	id := look().SystemID
	for range 2 { // deployments
		if err := api.Operate(t.Context(), id, "deploy", url.Values{"distro_series": {"noble"}}); err != nil {
			t.Fatal(err)
		}
		s.Settle()
		for range 2 { // looks
			if data, err := d.UserData(t.Context(), id); err != nil || string(data) != "data\n" {
				t.Errorf("user-data %q, %v", data, err)
			}
		}
		if m := look(); !isRunning(m) || m.Image != "ubuntu/noble" {
			t.Errorf("Deployed it is %+v", m)
		}
		d.setOff(id, true)
		if isRunning(look()) {
			t.Error("it runs, though it was turned off")
		}
		d.setOff(id, false)
		if err := api.Operate(t.Context(), id, "release", nil); err != nil {
			t.Fatal(err)
		}
		s.Settle()
		look()
	}
	if text, err := os.ReadFile(asked); err != nil || strings.Count(string(text), "user-data\n") != 2 {
		t.Errorf("the command was asked %q for two deployments (%v)", text, err)
	}
	away, err := realmaas.NewClient("http://127.0.0.1:1", s.APIKey())
	if err != nil {
		t.Fatal(err)
	}
	away.Pause = time.Millisecond
	d.api = away
	if all, err := d.Machines(t.Context()); err == nil {
		t.Errorf("MAAS is away, and it shows %+v", all)
	}
}

func isRunning(m sim.Machine) bool { return m.StatusName == "Deployed" && m.PowerState == "on" }
