package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiskOrder(t *testing.T) {
	t.Parallel()
	set := func(names ...string) map[string]bool {
		m := map[string]bool{}
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	cases := map[string]struct {
		reason string
		got    []string
		want   []string
	}{
		"Disks": {
			"The VM boots from root; the others follow in natural order.",
			diskOrder(set("data10", "root", "a", "data2", "zroot")), []string{"root", "a", "data2", "data10", "zroot"},
		},
		"NoRoot": {
			"Disks without a root have the same order.",
			diskOrder(set("disk10", "disk9")), []string{"disk9", "disk10"},
		},
		"Interfaces": {
			"eth2 comes before eth10.",
			interfaceOrder(set("eth10", "eth2", "eth0", "root")), []string{"eth0", "eth2", "eth10", "root"},
		},
		"Several": {
			"Each number counts, and a shorter name goes first.",
			interfaceOrder(set("a1-b10", "a1-b9", "a1", "a1-b", "a01", "a")), []string{"a", "a01", "a1", "a1-b", "a1-b9", "a1-b10"},
		},
		"Digits": {
			"Numbers come before words, and may be longer than any integer.",
			interfaceOrder(set("99999999999999999999999999", "a", "100000000000000000000000000", "7")),
			[]string{"7", "99999999999999999999999999", "100000000000000000000000000", "a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
