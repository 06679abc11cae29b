package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed config
var ourConfig embed.FS

// canonicalConfig does the same work with the provider canonical/maas.
//
//go:embed peers/canonical
var canonicalConfig embed.FS

// side is a column: a provider, and a configuration that does the work.
type side struct {
	name   string // head of the column
	binary string // absolute path
	source string // as in required_providers
	ours   bool   // the provider whose budgets are checked
	config fs.FS  // with *.tf files at its root for VMs, and in hosts for hosts
}

// ourSide is the column of our own provider.
func ourSide(binary string) (side, error) {
	config, err := fs.Sub(ourConfig, "config")
	if err != nil {
		return side{}, err
	}
	s, err := newSide("maaslxd", binary, config)
	if err != nil {
		return side{}, fmt.Errorf("%w; run make build, or name its directory with -bin", err)
	}
	s.ours = true
	return s, nil
}

func newSide(name, binary string, config fs.FS) (side, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return side{}, err
	}
	if info, err := os.Stat(binary); err != nil {
		return side{}, err
	} else if info.IsDir() {
		return side{}, fmt.Errorf("%s is a directory; name the provider's binary", binary)
	}
	source, err := sourceOf(config)
	return side{name: name, binary: binary, source: source, config: config}, err
}

// sourceLine is a provider's address in required_providers. A module's source
// has another shape: it begins with a dot, or is longer.
var sourceLine = regexp.MustCompile(`(?m)^\s*source\s*=\s*"((?:[a-z0-9.-]+/)?[a-z0-9][a-z0-9-]*/[a-z0-9-]+)"`)

// sourceOf finds the one provider that a configuration uses.
func sourceOf(config fs.FS) (string, error) {
	names, err := fs.Glob(config, "*.tf")
	if err != nil {
		return "", err
	}
	var sources []string
	for _, name := range names {
		text, err := fs.ReadFile(config, name)
		if err != nil {
			return "", err
		}
		for _, match := range sourceLine.FindAllSubmatch(text, -1) {
			sources = append(sources, string(match[1]))
		}
	}
	slices.Sort(sources)
	sources = slices.Compact(sources)
	if len(sources) != 1 {
		return "", fmt.Errorf(`the configuration's *.tf files name %d providers %q, want one: source = "NAMESPACE/NAME" in required_providers`,
			len(sources), sources)
	}
	return sources[0], nil
}

// program is the file name that Terraform expects for the provider.
func (s side) program() string { return "terraform-provider-" + path.Base(s.source) }

// install prepares a folder in which the CLI runs this side. It writes the
// configuration for a kind of work, a stand-in in the provider's place, and the
// CLI configuration file. It returns the path of that file.
func (s side) install(dir string, k kind) (string, error) {
	config, err := k.configFor(s.config)
	if err != nil {
		return "", err
	}
	names, err := fs.Glob(config, "*.tf")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := fs.ReadFile(config, name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	bin := filepath.Join(dir, "bin")
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(bin, 0o700); err != nil {
		return "", err
	}
	if err := os.Symlink(self, filepath.Join(bin, s.program())); err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", s.source, bin)
	rc := filepath.Join(dir, "cli.tfrc")
	return rc, os.WriteFile(rc, []byte(text.String()), 0o600)
}

// sidesFor returns the sides that have a configuration for a kind of work.
func sidesFor(k kind, sides []side) []side {
	return slices.DeleteFunc(slices.Clone(sides), func(s side) bool {
		found, err := fs.Glob(s.config, path.Join(k.folder, "*.tf"))
		return err != nil || len(found) == 0
	})
}
