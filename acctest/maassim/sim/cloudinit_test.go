package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestCloudInit: user-data writes and runs the same in every packaging.
func TestCloudInit(t *testing.T) {
	t.Parallel()
	const plain = "#cloud-config\nwrite_files:\n- {path: /run/a, encoding: b64, content: aGVsbG8=}\nruncmd:\n- kubeadm init && true\n- [echo, done]\n"
	want := sim.CloudInit{Files: map[string]string{"/run/a": "hello"}, Commands: []string{"kubeadm init && true", "echo done"}}
	cases := map[string]struct {
		reason   string
		userData string
		want     sim.CloudInit
		fails    bool
	}{
		"Plain":   {"One cloud-config.", plain, want, false},
		"Jinja":   {"As Cluster API writes it.", "## template: jinja\n" + plain, want, false},
		"Parts":   {"With a script beside it.", multiPart("text/cloud-config\n"+plain, "text/x-shellscript\n#!/bin/sh\ntrue\n"), want, false},
		"Nothing": {"Empty user-data is valid.", "", sim.CloudInit{Files: map[string]string{}, Commands: []string{}}, false},
		"Broken":  {"Invalid YAML is an error.", "#cloud-config\nruncmd: [\n", sim.CloudInit{}, true},
		"Base64":  {"A file that cannot be decoded is an error.", "#cloud-config\nwrite_files: [{path: /a, encoding: b64, content: '*'}]\n", sim.CloudInit{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1"}}})
			c.deployMetal("m1", tc.userData)
			got, err := c.sim.CloudInit("m1")
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nerror: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
