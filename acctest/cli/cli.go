// Package cli finds the CLI that the acceptance tests, the demo and the
// documentation run: HashiCorp's Terraform or OpenTofu, whichever exists.
//
// Where there is neither, it builds OpenTofu from its Go module, so that a
// machine with only Go can run everything. No release contains either program.
package cli

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// PathVariable is the environment variable with the path of the CLI to use.
// terraform-plugin-testing reads the same one.
const PathVariable = "TF_ACC_TERRAFORM_PATH"

// minMajor and minMinor are the oldest version that is accepted, of Terraform
// and OpenTofu alike: 1.11 brought write-only attributes to both.
const minMajor, minMinor = 1, 11

// versionTimeout limits one "version" call. The call uses neither network nor
// state, and takes well under a second.
const versionTimeout = 30 * time.Second

// CLI is a Terraform or an OpenTofu that has run successfully.
type CLI struct {
	Path    string // absolute
	Product string // "Terraform" or "OpenTofu"
	Version string // "1.12.6"
}

// IsTofu reports whether the CLI is OpenTofu. OpenTofu and Terraform have
// different registries.
func (c CLI) IsTofu() bool { return c.Product == "OpenTofu" }

// IsOlderThan reports whether the CLI is older than a version.
func (c CLI) IsOlderThan(major, minor int) bool {
	var haveMajor, haveMinor int
	if _, err := fmt.Sscanf(c.Version, "%d.%d", &haveMajor, &haveMinor); err != nil {
		return true
	}
	return haveMajor < major || haveMajor == major && haveMinor < minor
}

// String names the product with its version and path, for people.
func (c CLI) String() string {
	return fmt.Sprintf("%s %s (%s)", c.Product, c.Version, c.Path)
}

// versionLine is the first line of "terraform version".
var versionLine = regexp.MustCompile(`(?m)^(Terraform|OpenTofu) v(\d+\.\d+\.\d+\S*)`)

// identifyCLI runs the program's "version" and returns what it is. It fails
// where the program does not run, is neither Terraform nor OpenTofu, or is too
// old.
func identifyCLI(ctx context.Context, path string, environ []string) (CLI, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return CLI{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, abs, "version")
	cmd.Env = append(withoutMissingConfig(environ), "CHECKPOINT_DISABLE=1")
	out, err := cmd.Output()
	if err != nil {
		return CLI{}, fmt.Errorf("%s does not run: %w", abs, err)
	}
	return parseVersion(abs, string(out))
}

// parseVersion reads what "version" printed.
func parseVersion(path, out string) (CLI, error) {
	m := versionLine.FindStringSubmatch(out)
	if m == nil {
		return CLI{}, fmt.Errorf("%s is neither Terraform nor OpenTofu: it did not print its version", path)
	}
	c := CLI{Path: path, Product: m[1], Version: m[2]}
	if c.IsOlderThan(minMajor, minMinor) {
		return CLI{}, fmt.Errorf("%s is older than %d.%d, the first with write-only attributes", c, minMajor, minMinor)
	}
	return c, nil
}
