package engine

import (
	"errors"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	good := VMSpec{Name: "web-1", Host: "lxd1", Cores: 1, MemoryMiB: 1024, Disks: []Disk{{Name: "root", SizeGB: 8}}}
	cases := map[string]struct {
		reason string
		change func(*VMSpec)
		field  string // empty: valid
	}{
		"Good":         {"The smallest spec is valid.", func(*VMSpec) {}, ""},
		"Pinned":       {"Pinned cores stand for the number of cores.", func(s *VMSpec) { s.Cores, s.PinnedCores = 0, []int{0} }, ""},
		"DottedName":   {"MAAS takes a dot, LXD does not.", func(s *VMSpec) { s.Name = "web.1" }, "name"},
		"UpperCase":    {"MAAS would change the case, and the name would never match.", func(s *VMSpec) { s.Name = "Web" }, "name"},
		"EmptyName":    {"MAAS would invent a name.", func(s *VMSpec) { s.Name = "" }, "name"},
		"NumberName":   {"LXD refuses a number as a name.", func(s *VMSpec) { s.Name = "123" }, "name"},
		"AbsurdDisk":   {"A slip of the pen.", func(s *VMSpec) { s.Disks[0].SizeGB = 1 << 62 }, "disks.root.size_gb"},
		"LongName":     {"A DNS label has 63 characters at most.", func(s *VMSpec) { s.Name = strings.Repeat("a", 64) }, "name"},
		"NoCores":      {"Zero cores make no VM.", func(s *VMSpec) { s.Cores = 0 }, "cores"},
		"Negative":     {"Negative cores make no VM.", func(s *VMSpec) { s.Cores = -4 }, "cores"},
		"LittleMemory": {"MAAS refuses less than 1024 MiB.", func(s *VMSpec) { s.MemoryMiB = 1023 }, "memory_mib"},
		"NoDisks":      {"A VM without a root disk cannot be deployed.", func(s *VMSpec) { s.Disks = nil }, "disks"},
		"EmptyDisk":    {"A disk of 0 GB is a typing error that MAAS accepts.", func(s *VMSpec) { s.Disks[0].SizeGB = 0 }, "disks.root.size_gb"},
		"BadLabel":     {"A label with a colon would break compose's syntax.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0:1"}} }, "interfaces.eth0:1"},
		"BigUserData": {"More than reaches MAAS through nginx.", func(s *VMSpec) {
			s.Deploy = &Deployment{UserData: make([]byte, 1<<20)}
		}, "deploy.user_data"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := good
			spec.Disks = []Disk{good.Disks[0]}
			tc.change(&spec)
			err := spec.Validate()
			var bad *SpecError
			switch {
			case tc.field == "" && err != nil:
				t.Errorf("%s\ngot %v", tc.reason, err)
			case tc.field != "" && !errors.As(err, &bad):
				t.Errorf("%s\ngot %v, want an error about %s", tc.reason, err, tc.field)
			case tc.field != "" && (bad.Field != tc.field || bad.Hint == ""):
				t.Errorf("%s\ngot field %q, hint %q; want %q and a hint", tc.reason, bad.Field, bad.Hint, tc.field)
			}
		})
	}
}
