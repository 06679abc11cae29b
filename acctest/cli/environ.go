package cli

import (
	"os"
	"slices"
	"strings"
)

// configVariable is the variable with the path of a CLI's configuration file.
const configVariable = "TF_CLI_CONFIG_FILE"

// automationVariables are the variables that a CI service sets. With them the
// provider makes no key pair, and a test wants the same answers everywhere.
var automationVariables = []string{"CI", "TF_IN_AUTOMATION"}

// Environment is environ with what tests need to run the CLI: TF_ACC, the CLI's
// path, and no calls home. For OpenTofu it adds the registry and namespace that
// terraform-plugin-testing must use. With only one of them that stops with
// "legacy provider namespace". The variables of CI services are left out.
func (c CLI) Environment(environ []string) []string {
	set := map[string]string{
		"TF_ACC":             "1",
		"CHECKPOINT_DISABLE": "1",
		PathVariable:         c.Path,
	}
	if c.IsTofu() {
		set["TF_ACC_PROVIDER_HOST"] = "registry.opentofu.org"
		set["TF_ACC_PROVIDER_NAMESPACE"] = "hashicorp"
	}
	out := slices.DeleteFunc(withoutMissingConfig(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, replaced := set[name]
		return replaced || slices.Contains(automationVariables, name)
	})
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// withoutMissingConfig is environ without a TF_CLI_CONFIG_FILE whose file is
// missing. Each CLI warns about that on every call.
func withoutMissingConfig(environ []string) []string {
	path := lookupVariable(environ, configVariable)
	if _, err := os.Stat(path); path == "" || err == nil {
		return slices.Clone(environ)
	}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		return strings.HasPrefix(entry, configVariable+"=")
	})
}

// lookupVariable is the variable's value in environ, or empty. Of several
// values the last one counts, as for the operating system.
func lookupVariable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value
		}
	}
	return ""
}
