package workload

import (
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestReadPlan: errors in the user-data are reported as kubeadm would.
func TestReadPlan(t *testing.T) {
	t.Parallel()
	const (
		file    = "/run/kubeadm/kubeadm-join-config.yaml"
		command = "kubeadm join --config " + file + "  && echo success"
		version = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
		token   = "discovery: {bootstrapToken: {apiServerEndpoint: 'a:6443', token: a.b, caCertHashes: ['sha256:00']}}\n"
	)
	cases := map[string]struct {
		reason  string
		command string
		config  string
		fails   string
	}{
		"Join":     {"A worker's.", command, version + token, ""},
		"Template": {"cloud-init fills the host name in.", command, version + token + "nodeRegistration: {name: '{{ ds.meta_data.local_hostname }}'}\n", ""},
		"None":     {"A machine that is no node.", "true", "", errNoKubeadm.Error()},
		"NoFile":   {"The configuration was lost on the way.", strings.ReplaceAll(command, "join-config", "other"), version + token, "which no part of the user-data writes"},
		"Old":      {"An API that kubeadm of today does not read.", command, strings.ReplaceAll(version, "v1beta4", "v1beta2") + token, "only kubeadm.k8s.io/v1beta4"},
		"NoToken":  {"Nothing says how to trust the cluster.", command, version + "discovery: {bootstrapToken: {apiServerEndpoint: 'a:6443'}}\n", "no bootstrap token"},
		"NoPort":   {"An endpoint without a port.", command, version + strings.ReplaceAll(token, ":6443", ""), "missing port"},
		"Unfilled": {"A template that cloud-init does not know.", command, version + token + "nodeRegistration: {name: '{{ ds.none }}'}\n", "does not fill"},
		"YAML":     {"It cannot be read.", command, "a: [", "yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := readPlan(sim.CloudInit{Commands: []string{tc.command}, Files: map[string]string{file: tc.config}}, "m1")
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("%s\nerror: %v, want %q", tc.reason, err, tc.fails)
			}
			if err == nil && p.node.Name != "m1" {
				t.Errorf("%s\nnode %q, want m1", tc.reason, p.node.Name)
			}
		})
	}
	if _, err := readPlan(sim.CloudInit{}, "m1"); !errors.Is(err, errNoKubeadm) {
		t.Errorf("no command at all: %v", err)
	}
}
