package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ProviderSource is our provider's source address, without a registry host:
// each CLI adds its own registry's.
const ProviderSource = "maaslxd/maaslxd"

// ProviderBinary is the file name of our provider.
const ProviderBinary = "terraform-provider-maaslxd"

// WriteOverrides writes a CLI configuration file at path. With it the CLI takes
// our provider from binDir, without init or a registry. Point
// TF_CLI_CONFIG_FILE at it. A binDir without the provider is an error.
func WriteOverrides(path, binDir string) error {
	binDir, err := filepath.Abs(binDir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(binDir, ProviderBinary)); err != nil {
		return fmt.Errorf("the provider is not built: %w; run make build", err)
	}
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", ProviderSource, binDir)
	return os.WriteFile(path, []byte(text), 0o600)
}

// WithOverrides is the Environment in which the CLI uses the configuration
// file, and nothing that the user has set for Terraform or MAAS.
func (c CLI) WithOverrides(environ []string, path string) []string {
	var out []string
	for _, entry := range c.Environment(environ) {
		foreign := strings.HasPrefix(entry, "TF_CLI_") || strings.HasPrefix(entry, "TF_VAR_") ||
			strings.HasPrefix(entry, "TF_WORKSPACE=") || strings.HasPrefix(entry, "TF_DATA_DIR=") ||
			strings.HasPrefix(entry, "MAAS_")
		if !foreign {
			out = append(out, entry)
		}
	}
	return append(out, configVariable+"="+path)
}
