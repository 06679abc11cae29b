package compose

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestImmutableDifference: both texts are nouns, which a sentence of either front end can use.
func TestImmutableDifference(t *testing.T) {
	t.Parallel()
	begun := engine.Machine{Cores: 1, MemoryMiB: 2048, HostName: "lxd1", Image: "ubuntu/noble", Disks: []engine.MachineDisk{{SizeGB: 8}}}
	cases := map[string]struct {
		reason             string
		change             func(*engine.VMSpec)
		field, had, wanted string
	}{
		"Same":      {"Nothing differs.", func(*engine.VMSpec) {}, "", "", ""},
		"Cores":     {"One core is no plural.", func(s *engine.VMSpec) { s.Cores = 3 }, "cores", "1 core", "3 cores"},
		"Memory":    {"The unit is said twice.", func(s *engine.VMSpec) { s.MemoryMiB = 4096 }, "memory_mib", "2048 MiB of memory", "4096 MiB of memory"},
		"Host":      {"The host was changed.", func(s *engine.VMSpec) { s.Host = "lxd2" }, "vm_host", "VM host lxd1", "VM host lxd2"},
		"Image":     {"Another image was begun.", func(s *engine.VMSpec) { s.Deploy.Image = "ubuntu/jammy" }, "deploy.image", "the image ubuntu/noble", "the image ubuntu/jammy"},
		"Undeploy":  {"The VM is to stay Ready.", func(s *engine.VMSpec) { s.Deploy = nil }, "deploy", "the image ubuntu/noble", "no installation"},
		"Disks":     {"A disk came.", func(s *engine.VMSpec) { s.Disks = append(s.Disks, engine.Disk{SizeGB: 20}) }, "disks", "disks of [8] GB", "disks of [8 20] GB"},
		"Interface": {"An interface came.", func(s *engine.VMSpec) { s.Interfaces = make([]engine.Interface, 2) }, "interfaces", "0 interfaces", "2 interfaces"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := engine.VMSpec{Cores: 1, MemoryMiB: 2048, Host: "lxd1", Disks: []engine.Disk{{SizeGB: 8}}, Deploy: &engine.Deployment{Image: "ubuntu/noble"}}
			tc.change(&want)
			field, had, wanted := ImmutableDifference(want, begun)
			if field.String() != tc.field || had != tc.had || wanted != tc.wanted {
				t.Errorf("%s\ngot %q: %q, %q", tc.reason, field, had, wanted)
			}
		})
	}
}
