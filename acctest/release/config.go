// Package release reads the configuration of a release, and checks the finished
// release.
package release

import (
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Config has those parts of goreleaser's configuration that other programs
// need.
type Config struct {
	Builds []Build `yaml:"builds"`
}

// Build is one program with its targets.
type Build struct {
	ID      string   `yaml:"id"`
	Main    string   `yaml:"main"` // its package, from the repository's root
	Targets []Target `yaml:"targets"`
}

// Target is an operating system and an architecture, by Go's names.
type Target struct{ GOOS, GOARCH string }

// UnmarshalText reads goreleaser's spelling, for example linux_amd64.
func (t *Target) UnmarshalText(text []byte) error {
	system, processor, ok := strings.Cut(string(text), "_")
	if !ok || system == "" || processor == "" || strings.Contains(processor, "_") {
		return fmt.Errorf("%q is not a target: want a system and an architecture, such as linux_amd64", text)
	}
	t.GOOS, t.GOARCH = system, processor
	return nil
}

// String is goreleaser's spelling.
func (t Target) String() string { return t.GOOS + "_" + t.GOARCH }

// ReadConfig reads a goreleaser configuration. Ours is .goreleaser.yaml at the
// repository's root.
func ReadConfig(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	var c Config
	if err := yaml.Unmarshal(data, &c); err != nil {
		return Config{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	for _, b := range c.Builds {
		if b.Main == "" || len(b.Targets) == 0 {
			return Config{}, fmt.Errorf("%s: the build %q names no package or no target", path, b.ID)
		}
	}
	if len(c.Builds) == 0 {
		return Config{}, fmt.Errorf("%s names no build", path)
	}
	return c, nil
}
