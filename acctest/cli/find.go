package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// BuildVariable is the environment variable that asks for a CLI built from its
// Go module, in the version that this package names: "opentofu" or "terraform".
const BuildVariable = "MAASLXD_BUILD_CLI"

// Finder looks for a CLI. It takes the one that the environment names, else one
// on PATH, else an OpenTofu that it builds.
type Finder struct {
	Environ  []string  // as os.Environ returns it
	ToolsDir string    // absolute; built CLIs are kept below it
	Log      io.Writer // which CLI is chosen or passed over, and how long a build took
}

// NewFinder makes a Finder for this process. It keeps what it builds in .tools
// below the repository's root, and logs on standard error.
func NewFinder(ctx context.Context) (*Finder, error) {
	dir, err := Root(ctx)
	if err != nil {
		return nil, err
	}
	return &Finder{Environ: os.Environ(), ToolsDir: dir + "/.tools", Log: os.Stderr}, nil
}

// Root is the absolute path of the module that contains the working directory.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the repository's root with go list -m: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Find returns the CLI to use. A CLI that the environment names must work:
// it is never silently replaced by another.
func (f *Finder) Find(ctx context.Context) (CLI, error) {
	if name := lookupVariable(f.Environ, BuildVariable); name != "" {
		p, known := products[name]
		if !known {
			return CLI{}, fmt.Errorf("%s is %q: set it to opentofu or terraform, or unset it to use an installed CLI", BuildVariable, name)
		}
		return f.findOrBuild(ctx, p)
	}
	if path := lookupVariable(f.Environ, PathVariable); path != "" {
		c, err := identifyCLI(ctx, path, f.Environ)
		if err != nil {
			return CLI{}, fmt.Errorf("%s: %w; unset it to use an installed CLI or build one", PathVariable, err)
		}
		return c, nil
	}
	for _, name := range []string{"terraform", "tofu"} {
		if c, ok := f.onPath(ctx, name); ok {
			return c, nil
		}
	}
	f.logLine("no terraform and no tofu on PATH")
	return f.findOrBuild(ctx, openTofu)
}

// onPath looks for the program on PATH. It logs why it passes over a program
// that cannot be used.
func (f *Finder) onPath(ctx context.Context, name string) (CLI, bool) {
	path, err := exec.LookPath(name)
	if err != nil {
		return CLI{}, false
	}
	c, err := identifyCLI(ctx, path, f.Environ)
	if err != nil {
		f.logLine("passing over %s: %v", name, err)
		return CLI{}, false
	}
	f.logLine("using %s", c)
	return c, true
}

// logLine writes a line for people.
func (f *Finder) logLine(format string, args ...any) {
	fmt.Fprintf(f.Log, "terraform CLI: "+format+"\n", args...)
}
