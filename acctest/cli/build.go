package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// product is a CLI that can be built from its Go module.
type product struct {
	name, version string // "OpenTofu", "1.12.6": as the CLI prints them for "version"
	program       string // name of the binary: "tofu"
	module, main  string // path of the module, and of the package with the program
	// prepare writes a copy of the module into scratch that builds, where the
	// module in dir does not. It is nil where the module builds as it is.
	prepare func(dir, scratch string) error
}

// openTofu is also built where no CLI is found.
var openTofu = product{
	name: "OpenTofu", version: "1.12.6", program: "tofu",
	module: "github.com/opentofu/opentofu", main: "./cmd/tofu",
}

// terraform has what the oldest supported Terraform lacks: actions (since 1.14)
// and queries.
var terraform = product{
	name: "Terraform", version: "1.16.0", program: "terraform",
	module: "github.com/hashicorp/terraform", main: ".", prepare: copyWithoutMissingBackends,
}

// products are the values that BuildVariable may have.
var products = map[string]product{"opentofu": openTofu, "terraform": terraform}

// findOrBuild returns the product below ToolsDir. It builds each version once.
// A build needs go and the module proxy, a gigabyte of memory and 5 to 10
// minutes of CPU.
func (f *Finder) findOrBuild(ctx context.Context, p product) (CLI, error) {
	path := filepath.Join(f.ToolsDir, strings.ToLower(p.name)+"-"+p.version, p.program)
	if c, err := identifyCLI(ctx, path, f.Environ); err == nil {
		f.logLine("using %s", c)
		return c, nil
	}
	f.logLine("building %s %s from its Go module, once: 5 to 10 minutes of CPU", p.name, p.version)
	start := time.Now()
	if err := f.build(ctx, p, path); err != nil {
		return CLI{}, fmt.Errorf("cannot build %s %s: %w; install Terraform or OpenTofu, or set %s to one",
			p.name, p.version, err, PathVariable)
	}
	f.logLine("built %s in %s", path, time.Since(start).Round(time.Second))
	return identifyCLI(ctx, path, f.Environ)
}

// build builds in the module's own directory. Its go.mod has a replace, which
// go install refuses for a module that is not the main one. The binary gets its
// final name when it is complete, so two builds at once do no harm.
func (f *Finder) build(ctx context.Context, p product, path string) error {
	dir, err := f.download(ctx, p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "build-"+p.program)
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	mode := "-mod=readonly"
	if p.prepare != nil {
		if err := p.prepare(dir, scratch); err != nil {
			return err
		}
		dir, mode = scratch, "-mod=mod"
	}
	part := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	defer os.Remove(part)
	cmd := f.goCommand(ctx, dir, "build", mode, "-trimpath",
		"-ldflags", "-s -w -X "+p.module+"/version.dev=no", "-o", part, p.main)
	cmd.Stdout, cmd.Stderr = f.Log, f.Log
	if err := f.runReporting(cmd, p.name); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// download brings the module into the module cache and returns its directory.
func (f *Finder) download(ctx context.Context, p product) (string, error) {
	var out bytes.Buffer
	cmd := f.goCommand(ctx, "", "mod", "download", "-json", p.module+"@v"+p.version)
	cmd.Stdout, cmd.Stderr = &out, f.Log
	runErr := cmd.Run()
	var module struct{ Dir, Error string }
	if err := json.Unmarshal(out.Bytes(), &module); err == nil && module.Error != "" {
		return "", fmt.Errorf("cannot download it: %s", module.Error)
	}
	if runErr != nil {
		return "", fmt.Errorf("cannot download it: %w", runErr)
	}
	return module.Dir, nil
}

// runReporting runs a long build, and logs every minute that it still works.
func (f *Finder) runReporting(cmd *exec.Cmd, name string) error {
	start := time.Now()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	done := make(chan error, 1)
	go func() { done <- cmd.Run() }()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			f.logLine("still building %s, %s so far", name, time.Since(start).Round(time.Second))
		}
	}
}

// goCommand is a go command without the flags and workspaces that are meant for
// our own module. It has low priority where nice exists.
func (f *Finder) goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	name := "go"
	if nice, err := exec.LookPath("nice"); err == nil && runtime.GOOS != "windows" {
		name, args = nice, append([]string{"-n", "10", "go"}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(withoutMissingConfig(f.Environ), "GOFLAGS=-buildvcs=false", "GOWORK=off", "CGO_ENABLED=0")
	return cmd
}
