package programs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/executable"
)

// TestLinkFlags: a program prints its version, as its project's release does.
func TestLinkFlags(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		program program
		version string
		want    string
	}{
		"None":    {"etcd has its version in its sources.", program{}, "v3.6.14", "-s -w"},
		"Version": {"Major and minor are told apart.", program{version: "a/b"}, "v1.36.3", "-X a/b.gitMajor=1 -X a/b.gitMinor=36 -X a/b.gitVersion=v1.36.3 -s -w"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.program.linkFlags(tc.version)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBuildRefusesUnknownNames, with a list of the known ones.
func TestBuildRefusesUnknownNames(t *testing.T) {
	t.Parallel()
	_, err := (&Builder{Module: t.TempDir()}).Build(t.Context(), Etcd, "kubelet")
	if err == nil || !strings.Contains(err.Error(), `"kubelet"`) || !strings.Contains(err.Error(), KubeAPIServer) {
		t.Errorf("building a kubelet: %v", err)
	}
}

// TestAssetsAreTaken: programs that setup-envtest installed are not built.
func TestAssetsAreTaken(t *testing.T) {
	t.Parallel()
	assets, module := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(assets, Etcd), filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")} {
		if err := executable.WriteProgram(path, ""); err != nil {
			t.Fatal(err)
		}
	}
	b := &Builder{Module: module, Tools: t.TempDir(), Assets: assets, Log: io.Discard}
	bin, err := b.Build(t.Context(), Etcd)
	if err != nil || bin.Path(Etcd) != filepath.Join(assets, Etcd) {
		t.Errorf("etcd is at %s, %v; want that of the assets", bin.Path(Etcd), err)
	}
	if _, err := b.Build(t.Context(), Etcd, KubeAPIServer); err == nil {
		t.Error("the assets have no API server, and it was not built from an empty module either: want an error")
	}
}

// TestFolderFollowsTheModule: other versions have other folders, and only the
// module's files count.
func TestFolderFollowsTheModule(t *testing.T) {
	t.Parallel()
	folder := func(mod, sum string) string {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": mod, "go.sum": sum} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		name, err := (&Builder{Module: dir, Tools: "/tools"}).programsFolder()
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	if first, again := folder("a", "b"), folder("a", "b"); first != again {
		t.Error("the same files have different folders")
	}
	if folder("a", "b") == folder("a", "c") || folder("a", "b") == folder("ab", "") {
		t.Error("different files have the same folder")
	}
}

// TestFileIsMadeOnce: several processes may ask for a file at once. It is made once and
// complete, and made again after a failure.
func TestFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	broken := errors.New("broken")
	err := createOnce(t.Context(), name, func(target string) error {
		return errors.Join(os.WriteFile(target, []byte("ha"), 0o600), broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("half a file is left")
	}
	var made atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := createOnce(t.Context(), name, func(target string) error {
				made.Add(1)
				return os.WriteFile(target, []byte("whole"), 0o600)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times, want 1", made.Load())
	}
}

// TestOnceGivesUp: waiting for another process ends with ctx.
func TestOnceGivesUp(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	unlock, err := acquireLock(t.Context(), name+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = createOnce(ctx, name, func(string) error { return errors.New("made while another process was at it") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
