package engine_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestMarksVMHost: a machine carries the mark of one of its VM hosts.
func TestMarksVMHost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		data   map[string]string
		host   engine.VMHost
		want   bool
	}{
		"Unmarked": {"Somebody else registered the VM host.", nil, engine.VMHost{ID: 3}, false},
		"Own":      {"The mark names the VM host.", map[string]string{engine.KeyData: "a/kvm1", engine.VMHostData: "3"}, engine.VMHost{ID: 3}, true},
		"Other":    {"The mark is that of a VM host with another project of the same LXD.", map[string]string{engine.KeyData: "a/kvm1", engine.VMHostData: "3"}, engine.VMHost{ID: 4}, false},
		"NoNumber": {"The VM host was not registered in MAAS when the mark was made.", map[string]string{engine.KeyData: "a/kvm1"}, engine.VMHost{ID: 3}, true},
		"OfLXD":    {"VMs are made in LXD now, and MAAS's number remains.", map[string]string{engine.KeyData: "a/kvm1", engine.VMHostData: "3"}, engine.VMHost{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (engine.Machine{OwnerData: tc.data}).MarksVMHost(tc.host); got != tc.want {
				t.Errorf("%s\ngot %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
