package cloudinit_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestCanRun: user-data that cloud-init would ignore may be for another program.
func TestCanRun(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		data string
		want bool
	}{
		"CloudConfig": {"#cloud-config\n{}\n", true},
		"Jinja":       {"## template: jinja\n#cloud-config\n{}\n", true},
		"Script":      {"#!/bin/sh\n", true},
		"MultiPart":   {"Content-Type: multipart/mixed; boundary=x\nMIME-Version: 1.0\n\n--x--\n", true},
		"Talos":       {"version: v1alpha1\n", false},
		"Ignition":    {`{"ignition":{"version":"3.4.0"}}`, false},
		"Nothing":     {"", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cloudinit.CanRun([]byte(tc.data)); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
