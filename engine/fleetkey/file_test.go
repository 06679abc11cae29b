package fleetkey

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// The environment of the processes that tests start from this binary.
const (
	envKeys  = "MAASLXD_TEST_KEYS"  // a folder to make keys in
	envStart = "MAASLXD_TEST_START" // when, in Unix nanoseconds
)

const (
	processes = 6
	rounds    = 10
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(envKeys); folder != "" {
		makeKeys(folder)
		return
	}
	os.Exit(m.Run())
}

// makeKeys makes one key after the other, at moments that other processes keep
// too, and prints their fingerprints.
func makeKeys(folder string) {
	start, err := strconv.ParseInt(os.Getenv(envStart), 10, 64)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for n := range rounds {
		time.Sleep(time.Until(time.Unix(0, start).Add(time.Duration(n) * 30 * time.Millisecond)))
		key, err := LoadOrCreate(filepath.Join(folder, strconv.Itoa(n), KeyFile), time.Now())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(key.Fingerprint)
	}
}

// TestLoadOrCreateProcesses lets several processes make the same keys at the
// same moments.
func TestLoadOrCreateProcesses(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state", "maaslxd")
	start := time.Now().Add(500 * time.Millisecond).UnixNano()
	said := make([]string, processes)
	var wg sync.WaitGroup
	for n := range processes {
		wg.Go(func() {
			process := exec.CommandContext(t.Context(), os.Args[0])
			process.Env = append(os.Environ(), envKeys+"="+folder, fmt.Sprintf("%s=%d", envStart, start))
			out, err := process.CombinedOutput()
			if err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
			}
			said[n] = string(out)
		})
	}
	wg.Wait()
	var want strings.Builder
	for n := range rounds {
		key, err := LoadFile(filepath.Join(folder, strconv.Itoa(n), KeyFile), time.Now())
		if err != nil {
			t.Fatal(said)
		}
		fmt.Fprintln(&want, key.Fingerprint)
		wantOnlyKeyFile(t, filepath.Join(folder, strconv.Itoa(n)))
	}
	for n := range processes {
		if diff := cmp.Diff(want.String(), said[n]); diff != "" {
			t.Errorf("process %d has other keys than the files, -want +got:\n%s", n, diff)
		}
	}
}

// wantOnlyKeyFile wants the key file, and nothing else, in a folder.
func wantOnlyKeyFile(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != KeyFile {
		t.Errorf("left in %s: %v", folder, entries)
	}
}

func TestLoadOrCreate(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state", "maaslxd")
	path := filepath.Join(folder, KeyFile)
	if _, err := LoadFile(path, time.Now()); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("a file that is not there: %v", err)
	}
	made, err := LoadOrCreate(path, time.Now())
	if err != nil {
		t.Fatal(errorWithHint(err))
	}
	again, err := LoadOrCreate(path, time.Now())
	if diff := cmp.Diff(made, again); err != nil || diff != "" {
		t.Fatalf("another pair the second time: %v\n%s", err, diff)
	}
	wantOnlyKeyFile(t, folder)
	modes := map[string]fs.FileMode{path: 0o600, folder: 0o700 | fs.ModeDir}
	for name, want := range modes {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	certificate, err := findCertificate(made.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	if cn := certificate.Subject.CommonName; !strings.HasSuffix(cn, "@maaslxd") {
		t.Errorf("the certificate's name %q does not tell the program", cn)
	}
	if years := time.Until(made.NotAfter).Hours() / 24 / 365; years < 9.9 || years > 10.1 {
		t.Errorf("valid for %.1f years", years)
	}
}

func TestLoadOrCreateRefuses(t *testing.T) {
	t.Parallel()
	pair, other := makeKey(t), makeKey(t)
	file := func(text string, mode fs.FileMode) func(*testing.T, string) string {
		return func(t *testing.T, path string) string {
			if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	whole := pair.Certificate + pair.Key
	cases := map[string]struct {
		reason  string
		make    func(t *testing.T, path string) string // returns the path to use
		message string
	}{
		"NoPlace":      {"The ledger is in memory.", func(*testing.T, string) string { return "" }, "has no folder for the fleet's key pair"},
		"Empty":        {"The disk was full, elsewhere than here.", file("", 0o600), "holds no certificate"},
		"Cut":          {"Copied in part.", file(whole[:len(whole)/2], 0o600), "cannot be used"},
		"OnlyPublic":   {"The certificate was put there alone.", file(pair.Certificate, 0o600), "holds no private key"},
		"OnlyKey":      {"The key was put there alone.", file(pair.Key, 0o600), "holds no certificate"},
		"TwoPairs":     {"Halves of two pairs.", file(pair.Certificate+other.Key, 0o600), "not the private key"},
		"Noise":        {"Not PEM at all.", file("\x00\x01\x02", 0o600), "holds no certificate"},
		"Readable":     {"Somebody else may have read it.", file(whole, 0o644), "0644"},
		"GroupMay":     {"A group is others, too.", file(whole, 0o640), "0640"},
		"Folder":       {"A folder has that name.", func(t *testing.T, path string) string { return mkdir(t, path) }, "is not a file"},
		"Pipe":         {"Opening it would block.", pipe, "is not a file"},
		"FolderIsFile": {"The folder cannot be made, nor looked into.", func(t *testing.T, path string) string { return filepath.Join(file("", 0o600)(t, path), KeyFile) }, "not a directory"},
		"NoFolder":     {"A kernel's file system takes no folders.", func(*testing.T, string) string { return "/proc/maaslxd/" + KeyFile }, "cannot be made"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tc.make(t, filepath.Join(t.TempDir(), KeyFile))
			_, err := LoadOrCreate(path, time.Now())
			r, ok := errors.AsType[*engine.Refusal](err)
			if !ok || !engine.IsTerminal(err) {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if !strings.Contains(r.Message, tc.message) || !strings.Contains(r.Message, path) {
				t.Errorf("%s: message %q, want %q and the path", tc.reason, r.Message, tc.message)
			}
			if !strings.Contains(r.Hint, certField) || !strings.Contains(r.Hint, keyField) {
				t.Errorf("%s: the hint names no way out: %s", tc.reason, r.Hint)
			}
			noSecret(t, errorWithHint(err), pair)
			noSecret(t, errorWithHint(err), other)
		})
	}
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func pipe(t *testing.T, path string) string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "mkfifo", "-m", "600", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestExpiredFile: LXD would refuse it, with less to say.
func TestExpiredFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), KeyFile)
	key, err := LoadOrCreate(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, err = LoadOrCreate(path, key.NotAfter.Add(time.Hour))
	if err == nil || !strings.Contains(err.Error(), "expired on "+key.NotAfter.Format(time.DateOnly)) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

// TestKeyRotation changes the key of a fleet: the next pair is trusted before it
// is used.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	current, err := LoadOrCreate(path(KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	next, err := LoadOrCreate(path(NextKeyFile), time.Now())
	if err != nil || next.Fingerprint == current.Fingerprint {
		t.Fatalf("the next pair: %v", err)
	}
	trust, err := TrustedCertificates(time.Now(), current.Certificate, next.Certificate)
	if diff := cmp.Diff([]string{current.Certificate, next.Certificate}, trust); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	noted := []string{fingerprintOf(t, trust[0]), fingerprintOf(t, trust[1])}
	if err := os.Rename(path(NextKeyFile), path(KeyFile)); err != nil {
		t.Fatal(err)
	}
	atHand, err := LoadOrCreate(path(KeyFile), time.Now())
	if err != nil || atHand.Fingerprint != next.Fingerprint {
		t.Fatalf("after the change: %s, %v", atHand.Fingerprint, err)
	}
	if err := CheckSameKey(atHand.Fingerprint, noted...); err != nil {
		t.Errorf("a host that trusts both: %v", err)
	}
	if err := CheckSameKey(atHand.Fingerprint, noted[0]); err == nil {
		t.Error("a host that trusts the old one alone passes")
	}
}
