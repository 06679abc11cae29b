package assembly_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestSelectorPassesOver: the smallest machine that can become the host is
// taken, and not the smallest.
func TestSelectorPassesOver(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*sim.Model)
		spec   func(*engine.HostSpec)
	}{
		"NoDisk":       {reason: "There is nothing to install on.", change: func(m *sim.Model) { m.Machines[0].NoDisk = true }},
		"NoNIC":        {reason: "MAAS could not boot it.", change: func(m *sim.Model) { m.Machines[0].NoNIC = true }},
		"Architecture": {reason: "MAAS has no image for it.", change: func(m *sim.Model) { m.Machines[0].Architecture = "arm64/generic" }},
		"OneDisk": {
			reason: "The root file system goes to the second disk.", change: func(m *sim.Model) { m.Machines[1].MoreDisksGB = []int64{50} },
			spec: func(h *engine.HostSpec) {
				h.Machine.Deploy.Storage = &engine.StorageLayout{Type: "flat", RootDisk: "sdb", RootSizeGB: 40}
			},
		},
		"SmallDisk": {
			reason: "The pools lie in files on it.", change: func(m *sim.Model) { m.Machines[0].DiskGB = 100 },
			spec: func(h *engine.HostSpec) {
				h.LXD.StoragePools = map[string]cloudinit.StoragePool{"local": {Driver: cloudinit.Btrfs, SizeGB: 200}, "fast": {Driver: cloudinit.Btrfs, SizeGB: 20}}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := hostWorld()
			m.Machines = m.Machines[:2]
			tc.change(&m)
			inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
				want := metalHost()
				want.Machine.Machine = ""
				if tc.spec != nil {
					tc.spec(&want)
				}
				h, err := p.applyHost(newHostRef, want)
				if err != nil || h.Machine.Hostname != "m2" {
					t.Errorf("%s\nwant m2, got %s, %v", tc.reason, h.Machine.Hostname, err)
				}
			})
		})
	}
}

// TestMachineArchitecture: a machine is deployed if MAAS has the image for it,
// and not even allocated if not.
func TestMachineArchitecture(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   engine.MachineSpec
		images []string // architectures
		says   string   // empty: it is deployed
	}{
		"Imported":   {reason: "An image of each architecture.", spec: engine.MachineSpec{Machine: "small", Deploy: noble()}, images: []string{"amd64", "arm64"}},
		"Missing":    {reason: "An image of another one.", spec: engine.MachineSpec{Machine: "small", Deploy: noble()}, images: []string{"amd64"}, says: "MAAS has ubuntu/noble for amd64 only"},
		"Default":    {reason: "MAAS's default image is one of those that it has.", spec: engine.MachineSpec{Machine: "small", Deploy: &engine.Deployment{}}, images: []string{"amd64", "ppc64el"}, says: "MAAS has an image for amd64, ppc64el only"},
		"Undeployed": {reason: "Nothing is installed.", spec: engine.MachineSpec{Machine: "small"}, images: []string{"amd64"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := metalWorld()
				m.Machines[0].Architecture, m.Architectures = "arm64/generic", tc.images
				r := inMemoryOf(t, m)
				got, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyMachine(newMachineRef, tc.spec)
				if tc.says == "" {
					if err != nil || got.Hostname != "small" {
						t.Errorf("%s\ngot %+v, %v", tc.reason, got, err)
					}
					return
				}
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != "machine" || bad.Hint == "" || !strings.Contains(bad.Message, tc.says) {
					t.Errorf("%s\nwant %q about machine, got %v", tc.reason, tc.says, err)
				}
				if len(r.acquired()) != 0 || len(r.writes()) != 0 {
					t.Errorf("%s\n%v was taken, by %v", tc.reason, r.acquired(), r.writes())
				}
			})
		})
	}
}
