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
	"time"
)

const (
	// tofuVersion is the OpenTofu that is built where no CLI is found.
	tofuVersion = "1.12.6"
	tofuModule  = "github.com/opentofu/opentofu"
)

// openTofu returns the OpenTofu below ToolsDir, which it builds once for each
// version. It needs go and the module proxy, a gigabyte of memory and 5 to 10
// minutes of CPU.
func (f *Finder) openTofu(ctx context.Context) (CLI, error) {
	path := filepath.Join(f.ToolsDir, "opentofu-"+tofuVersion, "tofu")
	if c, err := probe(ctx, path, f.Environ); err == nil {
		f.say("using %s", c)
		return c, nil
	}
	f.say("no terraform and no tofu on PATH; building OpenTofu %s from its Go module, once: 5 to 10 minutes of CPU", tofuVersion)
	start := time.Now()
	if err := f.buildTofu(ctx, path); err != nil {
		return CLI{}, fmt.Errorf("cannot build OpenTofu %s: %w; install Terraform or OpenTofu, or set %s to one",
			tofuVersion, err, PathVariable)
	}
	f.say("built %s in %s", path, time.Since(start).Round(time.Second))
	return probe(ctx, path, f.Environ)
}

// buildTofu builds in the module's own directory: its go.mod has a replace,
// which go install refuses for a module that is not the main one. The binary
// gets its name when it is whole, so two builds at once do no harm.
func (f *Finder) buildTofu(ctx context.Context, path string) error {
	dir, err := f.downloadTofu(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	defer os.Remove(part)
	build := f.goCommand(ctx, dir, "build", "-mod=readonly", "-trimpath",
		"-ldflags", "-s -w -X "+tofuModule+"/version.dev=no", "-o", part, "./cmd/tofu")
	build.Stdout, build.Stderr = f.Log, f.Log
	if err := f.run(build); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// downloadTofu brings the module into the module cache and returns where.
func (f *Finder) downloadTofu(ctx context.Context) (string, error) {
	var out bytes.Buffer
	cmd := f.goCommand(ctx, "", "mod", "download", "-json", tofuModule+"@v"+tofuVersion)
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

// run tells every minute that a long build is still at work.
func (f *Finder) run(cmd *exec.Cmd) error {
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
			f.say("still building OpenTofu, %s so far", time.Since(start).Round(time.Second))
		}
	}
}

// goCommand is a go command free of flags and workspaces that are meant for
// our own module. It has low priority where nice exists.
func (f *Finder) goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	name := "go"
	if nice, err := exec.LookPath("nice"); err == nil && runtime.GOOS != "windows" {
		name, args = nice, append([]string{"-n", "10", "go"}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(clean(f.Environ), "GOFLAGS=-buildvcs=false", "GOWORK=off", "CGO_ENABLED=0")
	return cmd
}
