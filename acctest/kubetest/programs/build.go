package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Builder builds programs from one module, and keeps the binaries.
type Builder struct {
	Module string    // absolute path of the folder with the module's go.mod and go.sum
	Tools  string    // absolute path; binaries are kept below it
	Assets string    // absolute path; programs in it are used as they are; empty: all are built
	Log    io.Writer // which programs are built, and how long that took
}

// NewBuilder makes the Builder of this repository, from any of its modules. It
// builds from acctest/tools/kube, keeps the programs in .tools/kube and logs on
// standard error. Programs in the folder of KUBEBUILDER_ASSETS, where
// setup-envtest installs them, are not built.
func NewBuilder(ctx context.Context) (*Builder, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/maaslxd/maaslxd").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the repository's root with go list -m: %w", err)
	}
	root := strings.TrimSpace(string(out))
	return &Builder{
		Module: filepath.Join(root, "acctest", "tools", "kube"),
		Tools:  filepath.Join(root, ".tools", "kube"),
		Assets: os.Getenv("KUBEBUILDER_ASSETS"),
		Log:    os.Stderr,
	}, nil
}

// Bin knows the paths of programs.
type Bin struct{ built, assets string }

// Path is the path of the program of that name.
func (b Bin) Path(name string) string {
	if given := filepath.Join(b.assets, name); b.assets != "" && isFile(given) {
		return given
	}
	return filepath.Join(b.built, name)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Build builds those programs that are missing. Several processes may ask for
// the same program: the first builds it, the others wait.
//
// From an empty build cache the API server takes some five minutes on two
// processors, and all others together two more. They leave 3.2 GB in the cache.
func (b *Builder) Build(ctx context.Context, names ...string) (Bin, error) {
	chosen, err := choosePrograms(names)
	if err != nil {
		return Bin{}, err
	}
	folder, err := b.programsFolder()
	if err != nil {
		return Bin{}, err
	}
	bin := Bin{built: filepath.Join(folder, "bin"), assets: b.Assets}
	if err := os.MkdirAll(bin.built, 0o755); err != nil {
		return Bin{}, err
	}
	for _, p := range chosen {
		err := createOnce(ctx, bin.Path(p.name), func(target string) error { return b.buildProgram(ctx, p, target) })
		if err != nil {
			return Bin{}, &BuildError{Program: p.name, Err: err}
		}
	}
	return bin, nil
}

// BuildError says why a program cannot be built. Most often its modules are
// neither in the module cache nor available.
type BuildError struct {
	Program string
	Err     error
}

// Error names the program.
func (e *BuildError) Error() string { return "cannot build " + e.Program + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *BuildError) Unwrap() error { return e.Err }

// programsFolder is the folder for the programs of these versions. Its name
// depends only on the module's files, so that every checkout with the same
// files finds the same folder.
func (b *Builder) programsFolder() (string, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(b.Module, name))
		if err != nil {
			return "", fmt.Errorf("cannot read which versions to build: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	return filepath.Join(b.Tools, hex.EncodeToString(hash.Sum(nil))[:12]), nil
}

// buildProgram compiles and links one program.
func (b *Builder) buildProgram(ctx context.Context, p program, target string) error {
	version, err := b.runGo(ctx, "list", "-m", "-f", "{{.Version}}", p.module)
	if err != nil {
		return err
	}
	began := time.Now()
	b.logf("building %s %s from its Go module; the first build takes minutes", p.name, version)
	if _, err := b.runGo(ctx, "build", "-ldflags", p.linkFlags(version), "-o", target, p.pkg); err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	b.logf("built %s %s in %s, %d MB", p.name, version, time.Since(began).Round(time.Second), info.Size()>>20)
	return nil
}

// runGo runs the go command in the module and returns its output. The programs
// are built without cgo, as their projects build them. They share compiled
// libraries with ours.
func (b *Builder) runGo(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.Module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -trimpath", "GOWORK=off")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// logf writes a line for people.
func (b *Builder) logf(format string, args ...any) {
	fmt.Fprintf(b.Log, "kube programs: "+format+"\n", args...)
}

// createOnce makes a file unless it exists. It makes the file under another
// name and then moves it, so that nobody sees half of it.
func createOnce(ctx context.Context, name string, create func(target string) error) error {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unlock, err := acquireLock(ctx, name+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err // another process made it while this one waited
	}
	half := name + ".new"
	defer os.RemoveAll(half)
	if err := create(half); err != nil {
		return err
	}
	return os.Rename(half, name)
}
