package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/executable"
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
		"CI": {
			reason:  "The provider makes no key pair in CI; a test asks for that itself.",
			product: "Terraform",
			have:    []string{"CI=true", "TF_IN_AUTOMATION=1", "CIRCLE=1"},
			want:    []string{"CHECKPOINT_DISABLE=1", "CIRCLE=1", "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=/bin/x"},
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

func TestWithOverridesIsAlone(t *testing.T) {
	t.Parallel()
	have := []string{"HOME=/home/u", "MAAS_API_KEY=a:b:c", "TF_CLI_ARGS=-lock=false", "TF_VAR_x=1", "TF_WORKSPACE=w"}
	want := []string{"CHECKPOINT_DISABLE=1", "HOME=/home/u", "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=/bin/x", "TF_CLI_CONFIG_FILE=/home/u/rc"}
	got := CLI{Path: "/bin/x", Product: "Terraform"}.WithOverrides(have, "/home/u/rc")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the user set for Terraform or MAAS must not reach the run\n-want +got:\n%s", diff)
	}
}

func TestWriteOverrides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "rc")
	if err := WriteOverrides(path, dir); err == nil {
		t.Error("no error for a directory without the provider")
	}
	if err := executable.WriteProgram(filepath.Join(dir, ProviderBinary), ""); err != nil {
		t.Fatal(err)
	}
	if err := WriteOverrides(path, dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "provider_installation {\n  dev_overrides {\n    \"maaslxd/maaslxd\" = \"" + dir + "\"\n  }\n  direct {}\n}\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
