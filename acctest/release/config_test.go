package release_test

import (
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/release"
)

const root = "../.."

// untenableTargets are the targets for which SQLite's translation exists and
// does not compile, with the reason (modernc.org/sqlite v1.46.1,
// modernc.org/libc v1.67.6).
var untenableTargets = map[string]string{
	"freebsd/386":  "libc_freebsd.go takes offsets and size_t for 64 bits wide",
	"freebsd/arm":  "libc_freebsd.go takes offsets and size_t for 64 bits wide",
	"netbsd/amd64": "sqlite_netbsd_amd64.go is of an older SQLite than what is around it",
}

// TestTargets: the provider and the simulator are released for all targets for
// which they build without a C compiler. SQLite limits these, because it is
// translated for some only.
func TestTargets(t *testing.T) {
	t.Parallel()
	want := targetsOfSQLite(t)
	config := readConfig(t)
	for _, id := range []string{"provider", "simulator"} {
		if diff := cmp.Diff(want, targetsOf(t, config, id)); diff != "" {
			t.Errorf("targets of the %s (-it builds for +it is released for):\n%s", id, diff)
		}
	}
}

// TestTargetsOfTheBridge: each target of the image also has an archive.
func TestTargetsOfTheBridge(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "GNUmakefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(makefile), "\nPLATFORMS := ")
	platforms, _, _ := strings.Cut(rest, "\n")
	got := targetsOf(t, readConfig(t), "bridge")
	for _, platform := range strings.Fields(platforms) {
		if !slices.Contains(got, strings.ReplaceAll(platform, "/", "_")) {
			t.Errorf("the image is made for %s, and no archive is: %q", platform, got)
		}
	}
	if platforms == "" {
		t.Error("the GNUmakefile has no PLATFORMS")
	}
}

// TestReleasedProgramsExist: each released program exists in the tree.
func TestReleasedProgramsExist(t *testing.T) {
	t.Parallel()
	for _, b := range readConfig(t).Builds {
		if _, err := os.Stat(filepath.Join(root, b.Main, "main.go")); err != nil {
			t.Errorf("the build %s: %v", b.ID, err)
		}
	}
}

func TestReadConfig(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, text, says string }{
		"NoBuild":   {"An empty list of licences would look complete.", "version: 2\n", "names no build"},
		"NoTarget":  {"goreleaser would choose targets that nobody checked.", "builds: [{id: x, main: ./x}]\n", "no target"},
		"NoPackage": {"goreleaser would build the root.", "builds: [{id: x, targets: [linux_amd64]}]\n", "no package"},
		"Variant":   {"Archives of two variants would get one name.", "builds: [{id: x, main: ./x, targets: [linux_amd64_v1]}]\n", "is not a target"},
		"Other":     {"It is another file.", "[]\n", "cannot read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := release.ReadConfig(file); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s got %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}

func readConfig(t *testing.T) release.Config {
	t.Helper()
	c, err := release.ReadConfig(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func targetsOf(t *testing.T, c release.Config, id string) []string {
	t.Helper()
	var all []string
	for _, b := range c.Builds {
		for _, target := range b.Targets {
			if b.ID == id {
				all = append(all, target.String())
			}
		}
	}
	slices.Sort(all)
	return all
}

// targetsOfSQLite are the targets for which modernc.org/sqlite has a translation.
func targetsOfSQLite(t *testing.T) []string {
	t.Helper()
	folder := filepath.Join(goOutput(t, "list", "-m", "-f", "{{.Dir}}", "modernc.org/sqlite"), "lib")
	files, err := filepath.Glob(filepath.Join(folder, "sqlite_*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no translation of SQLite (%v)", folder, err)
	}
	var all []string
	for _, target := range strings.Fields(goOutput(t, "tool", "dist", "list")) {
		if _, ok := untenableTargets[target]; ok || strings.HasPrefix(target, "android/") || strings.HasPrefix(target, "ios/") {
			continue // phones need the linker of a C compiler, and neither CLI runs there
		}
		context := build.Default
		context.GOOS, context.GOARCH, _ = strings.Cut(target, "/")
		if slices.ContainsFunc(files, func(file string) bool {
			fits, err := context.MatchFile(folder, filepath.Base(file))
			return err == nil && fits
		}) {
			all = append(all, context.GOOS+"_"+context.GOARCH)
		}
	}
	slices.Sort(all)
	return all
}

func goOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
