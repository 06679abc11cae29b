package cli

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	present := t.TempDir()
	cases := map[string]struct {
		reason  string
		product string
		have    []string
		want    []string
	}{
		"Terraform": {
			reason:  "Terraform needs its path and nothing of registries.",
			product: "Terraform",
			have:    []string{"HOME=/home/u"},
			want:    []string{"CHECKPOINT_DISABLE=1", "HOME=/home/u", "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=/bin/x"},
		},
		"OpenTofu": {
			reason:  "OpenTofu has a registry of its own.",
			product: "OpenTofu",
			want: []string{"CHECKPOINT_DISABLE=1", "TF_ACC=1", "TF_ACC_PROVIDER_HOST=registry.opentofu.org",
				"TF_ACC_PROVIDER_NAMESPACE=hashicorp", "TF_ACC_TERRAFORM_PATH=/bin/x"},
		},
		"Replaces": {
			reason:  "A variable that is there already is replaced, not given twice.",
			product: "Terraform",
			have:    []string{"TF_ACC=0"},
			want:    []string{"CHECKPOINT_DISABLE=1", "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=/bin/x"},
		},
		"DeadConfiguration": {
			reason:  "A configuration file that does not exist makes each call warn.",
			product: "Terraform",
			have:    []string{"TF_CLI_CONFIG_FILE=" + missing},
			want:    []string{"CHECKPOINT_DISABLE=1", "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=/bin/x"},
		},
		"LiveConfiguration": {
			reason:  "The user's own configuration stays.",
			product: "Terraform",
			have:    []string{"TF_CLI_CONFIG_FILE=" + present},
			want:    []string{"CHECKPOINT_DISABLE=1", "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=/bin/x", "TF_CLI_CONFIG_FILE=" + present},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := CLI{Path: "/bin/x", Product: tc.product}.Environment(tc.have)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
