package assembly_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// mixedWorld has the amd64 VM host lxd1, and the larger lxd2, which is arm64. MAAS has noble for
// amd64, and jammy for both.
func mixedWorld() sim.Model {
	m := world()
	m.Hosts[1].Architecture, m.Hosts[1].Cores, m.Hosts[1].MemoryMiB = "arm64/generic", 64, 65536
	m.ImageArchitectures = map[string][]string{"ubuntu/jammy": {"amd64", "arm64"}}
	return m
}

// TestVMArchitecture: a VM is made only on a VM host whose architecture its image has.
func TestVMArchitecture(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*sim.Model)
		host   string // vm_host of the spec
		deploy *engine.Deployment
		want   string // name of its VM host, or the error
	}{
		"PlacedBeside":  {reason: "The emptier VM host cannot run the image.", deploy: &engine.Deployment{Image: "ubuntu/noble"}, want: "lxd1"},
		"PlacedOnEmpty": {reason: "MAAS has the image for both.", deploy: &engine.Deployment{Image: "ubuntu/jammy"}, want: "lxd2"},
		"Undeployed":    {reason: "Nothing is installed.", want: "lxd2"},
		"Default":       {reason: "MAAS's default image is jammy.", deploy: &engine.Deployment{}, want: "lxd2"},
		"DefaultOfOne": {
			reason: "MAAS's default image is for amd64 only.", deploy: &engine.Deployment{}, want: "lxd1",
			change: func(m *sim.Model) { m.ImageArchitectures = map[string][]string{"ubuntu/noble": {"arm64"}} },
		},
		"Custom": {
			reason: "A custom image has the architecture that it was uploaded for.", deploy: &engine.Deployment{Image: "custom/k8s"}, want: "lxd1",
			change: func(m *sim.Model) { m.Images = append(m.Images, "custom/k8s") },
		},
		"Named": {
			reason: "The named VM host cannot run the image.", host: "lxd2", deploy: &engine.Deployment{Image: "ubuntu/noble"},
			want: "VM host lxd2 is arm64; MAAS has ubuntu/noble for amd64 only",
		},
		"NoneFits": {
			reason: "No VM host can run the image.", deploy: &engine.Deployment{Image: "ubuntu/noble"},
			change: func(m *sim.Model) { m.Hosts[0].Architecture = "arm64/generic" },
			want:   "no VM host fits web-1: VM hosts lxd1, lxd2 are arm64; MAAS has ubuntu/noble for amd64 only",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mixedWorld()
				if tc.change != nil {
					tc.change(&m)
				}
				r := inMemoryOf(t, m)
				p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				spec := smallVM("web-1", engine.Placement{Strategy: "spread"})
				if spec.Deploy = tc.deploy; tc.host != "" {
					spec.Host, spec.Placement = tc.host, engine.Placement{}
				}
				planned := p.engine.VMs.Check(t.Context(), newVMRef, spec)
				vm, err := p.applyVM(spec)
				if strings.Contains(tc.want, " ") {
					wantImageError(t, errors.Join(planned.Permanent...), tc.want)
					wantImageError(t, err, tc.want)
					if len(r.sim.Instances()) != 0 || r.countComposes() != 0 {
						t.Errorf("%s\nit was composed: %+v", tc.reason, r.sim.Instances())
					}
					return
				}
				if err != nil || vm.HostName != tc.want || !planned.IsEmpty() {
					t.Errorf("%s\nwant it on %s, got %s, %v; planned %+v", tc.reason, tc.want, vm.HostName, err, planned)
				}
			})
		})
	}
}

// wantImageError checks that the only error is about the image, has these words, and a way out.
func wantImageError(t *testing.T, err error, want string) {
	t.Helper()
	bad, ok := errors.AsType[*engine.SpecError](err)
	if !ok || bad.Field.String() != "deploy.image" || bad.Message != want || !strings.HasPrefix(bad.Hint, "Import ubuntu/noble for arm64 in MAAS") || !strings.Contains(bad.Hint, "use a VM host that is amd64") {
		t.Errorf("want %q about deploy.image, got %v", want, err)
	}
}

// TestVMArchitectureCalls: the architectures of images cost no call for each VM.
func TestVMArchitectureCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inMemoryOf(t, mixedWorld())
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		for _, name := range []string{"web-1", "web-2", "web-3"} {
			spec := smallVM(name, engine.Placement{})
			spec.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
			if vm, err := p.applyVM(spec); err != nil || vm.HostName != "lxd1" {
				t.Fatalf("%s is on %s, %v", name, vm.HostName, err)
			}
		}
		if n := r.sim.Journal().Count("GET boot-resources/"); n != 1 {
			t.Errorf("the images were read %d times for 3 VMs, want 1", n)
		}
	})
}
