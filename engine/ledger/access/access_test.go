package access

import (
	"bytes"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// TestAuthority makes an authority once, in its own folder.
func TestAuthority(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state", "ledger")
	made := make([]*Authority, 8)
	var all sync.WaitGroup
	for n := range made {
		all.Go(func() {
			var err error
			if made[n], err = OpenAuthority(folder, time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, a := range made {
		if a.Certificate != made[0].Certificate {
			t.Error("two processes have two authorities")
		}
	}
	for name, want := range map[string]os.FileMode{AuthorityKeyFile: 0o600, AuthorityFile: 0o600, ".": 0o700 | os.ModeDir} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("drafts are left: %v, %v", entries, err)
	}
	public, err := os.ReadFile(filepath.Join(folder, AuthorityFile))
	if err != nil || strings.Contains(string(public), "PRIVATE") || string(public) != made[0].Certificate {
		t.Errorf("the public file is %v\n%s", err, public)
	}
}

// TestBadAuthority: an unusable authority is an error with a way out.
func TestBadAuthority(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spoil  func(t *testing.T, path string)
		says   string
	}{
		"Open":    {"Others may have read the key.", func(t *testing.T, path string) { must(t, os.Chmod(path, 0o644)) }, "can be read or written by other users"},
		"Damaged": {"It is no key.", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("x"), 0o600)) }, "is damaged"},
		"Folder":  {"It is no file.", func(t *testing.T, path string) { must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700))) }, "cannot be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if _, err := OpenAuthority(folder, time.Now()); err != nil {
				t.Fatal(err)
			}
			tc.spoil(t, filepath.Join(folder, AuthorityKeyFile))
			_, err := OpenAuthority(folder, time.Now())
			refusal, ok := errors.AsType[*engine.Refusal](err)
			if !ok || !strings.Contains(refusal.Message, tc.says) || refusal.Hint == "" {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testRegister has an authority and its register.
type testRegister struct {
	*Authority
	*Register
	now time.Time
}

func newTestRegister(t *testing.T) *testRegister {
	t.Helper()
	folder := t.TempDir()
	now := time.Now()
	authority, err := OpenAuthority(folder, now)
	must(t, err)
	return &testRegister{authority, NewRegister(folder), now}
}

// issueClient makes a certificate without registering it.
func (d *testRegister) issueClient(t *testing.T, name string, valid time.Duration) ([]byte, *x509.Certificate) {
	t.Helper()
	text, _, err := d.IssueClient(name, d.now, valid)
	must(t, err)
	public, err := parseFirstCertificate(text)
	must(t, err)
	return text, public
}

// TestIdentifyClient: a client is identified by its certificate, or gets the reason why not.
func TestIdentifyClient(t *testing.T) {
	t.Parallel()
	rights := Rights{Regions: []string{"mark"}, Prefix: "ci/"}
	cases := map[string]struct {
		reason string
		shown  func(t *testing.T, d *testRegister) *x509.Certificate
		says   string
	}{
		"Good": {"A client that was added.", func(t *testing.T, d *testRegister) *x509.Certificate {
			text, public := d.issueClient(t, "ci", time.Hour)
			_, err := d.Add(t.Context(), "ci", rights, text, d.now)
			must(t, err)
			return public
		}, ""},
		"None": {"TLS alone does not ask for one.", func(*testing.T, *testRegister) *x509.Certificate { return nil }, "showed no certificate"},
		"Unregistered": {"A signature alone gives no rights.", func(t *testing.T, d *testRegister) *x509.Certificate {
			_, public := d.issueClient(t, "ci", time.Hour)
			return public
		}, "is not registered"},
		"Stranger": {"Another service's client.", func(t *testing.T, d *testRegister) *x509.Certificate {
			text, public := newTestRegister(t).issueClient(t, "ci", time.Hour)
			_, err := d.Add(t.Context(), "ci", rights, text, d.now)
			must(t, err)
			return public
		}, "is not signed by an authority of this ledger service"},
		"Server": {"A service's certificate is no client's.", func(t *testing.T, d *testRegister) *x509.Certificate {
			pair, err := d.IssueServer([]string{"localhost"}, d.now)
			must(t, err)
			return pair.Leaf
		}, "is not signed by"},
		"Expired": {"Its time is over.", func(t *testing.T, d *testRegister) *x509.Certificate {
			text, public := d.issueClient(t, "ci", -time.Minute)
			_, err := d.Add(t.Context(), "ci", rights, text, d.now)
			must(t, err)
			return public
		}, "client ci expired on"},
		"Revoked": {"Somebody took it back.", func(t *testing.T, d *testRegister) *x509.Certificate {
			text, public := d.issueClient(t, "ci", time.Hour)
			_, err := d.Add(t.Context(), "ci", rights, text, d.now)
			must(t, err)
			_, err = d.Revoke(t.Context(), "ci", d.now)
			must(t, err)
			return public
		}, "client ci was revoked on"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestRegister(t)
			var shown []*x509.Certificate
			if one := tc.shown(t, d); one != nil {
				shown = append(shown, one)
			}
			got, err := d.Identify(t.Context(), shown, d.Pool(), d.now)
			if tc.says == "" {
				if diff := cmp.Diff(rights, got.Rights); err != nil || diff != "" || got.Name != "ci" {
					t.Errorf("%s\n%v: %+v", tc.reason, err, got)
				}
				return
			}
			refusal, ok := errors.AsType[*engine.Refusal](err)
			if !ok || !errors.Is(err, engine.ErrForbidden) || !strings.Contains(refusal.Message, tc.says) || refusal.Hint == "" {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}

// TestCachedSignature: verified signatures are cached. Still a certificate is refused as soon as its
// client is revoked or it has expired. After a minute the signature is verified again.
func TestCachedSignature(t *testing.T) {
	t.Parallel()
	d := newTestRegister(t)
	signers := d.Pool()
	rights := Rights{Regions: []string{"mark"}, Prefix: "ci/"}
	shown := map[string][]*x509.Certificate{}
	for name, lasts := range map[string]time.Duration{"ci": time.Hour, "short": 30 * time.Second} {
		text, public := d.issueClient(t, name, lasts)
		_, err := d.Add(t.Context(), name, rights, text, d.now)
		must(t, err)
		shown[name] = []*x509.Certificate{public}
		_, err = d.Identify(t.Context(), shown[name], signers, d.now)
		must(t, err)
	}
	if _, err := d.Identify(t.Context(), shown["short"], signers, d.now.Add(31*time.Second)); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("expired: got %v", err)
	}
	if _, err := d.Identify(t.Context(), shown["ci"], x509.NewCertPool(), d.now); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("other signers: got %v", err)
	}
	_, err := d.Identify(t.Context(), shown["ci"], signers, d.now.Add(50*time.Second))
	must(t, err)
	at, ok := d.verifiedAt.Load(verifiedCertificate{fingerprint(shown["ci"][0]), signers})
	if !ok || !at.(time.Time).Equal(d.now) {
		t.Errorf("within a minute it was looked at again: %v", at)
	}
	_, err = d.Identify(t.Context(), shown["ci"], signers, d.now.Add(61*time.Second))
	must(t, err)
	if at, _ := d.verifiedAt.Load(verifiedCertificate{fingerprint(shown["ci"][0]), signers}); !at.(time.Time).After(d.now) {
		t.Errorf("after a minute it was not looked at again: %v", at)
	}
	_, err = d.Revoke(t.Context(), "ci", d.now)
	must(t, err)
	if _, err := d.Identify(t.Context(), shown["ci"], signers, d.now.Add(62*time.Second)); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("revoked: got %v", err)
	}
}

// TestFileOfClient: each request uses the present content of a client's file, however it was
// changed since the last request.
func TestFileOfClient(t *testing.T) {
	t.Parallel()
	if filepath.Separator != '/' {
		t.Skip("this system has no file modes")
	}
	cases := map[string]struct {
		reason string
		change func(t *testing.T, d *testRegister, path string)
		want   error
		prefix string // of the rights, if want is nil
	}{
		"Same": {"A file that stays says the same.", func(*testing.T, *testRegister, string) {}, nil, "ci/"},
		"Revoked": {"Another process revokes the client.", func(t *testing.T, d *testRegister, path string) {
			_, err := NewRegisterWith(newClientFolder(filepath.Dir(filepath.Dir(path)))).Revoke(t.Context(), "ci", d.now)
			must(t, err)
		}, engine.ErrForbidden, ""},
		"Edited": {"A person changes the prefix in place, and the file keeps its size.", func(t *testing.T, _ *testRegister, path string) {
			text, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, bytes.Replace(text, []byte(`"ci/"`), []byte(`"cj/"`), 1), 0o600))
		}, nil, "cj/"},
		"Readable": {"A person lets everybody read it.", func(t *testing.T, _ *testRegister, path string) { must(t, os.Chmod(path, 0o644)) }, engine.ErrForbidden, ""},
		"Removed":  {"A person removes it.", func(t *testing.T, _ *testRegister, path string) { must(t, os.Remove(path)) }, engine.ErrForbidden, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestRegister(t)
			text, public := d.issueClient(t, "ci", time.Hour)
			added, err := d.Add(t.Context(), "ci", Rights{Regions: []string{"mark"}, Prefix: "ci/"}, text, d.now)
			must(t, err)
			identify := func() (Client, error) {
				return d.Identify(t.Context(), []*x509.Certificate{public}, d.Pool(), d.now)
			}
			path := d.store.(*clientFolder).clientPath(added.Fingerprint)
			must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)))
			_, err = identify()
			must(t, err)
			if _, kept := d.store.(*clientFolder).cache.Load(path); !kept {
				t.Error("an old file is read at each request")
			}
			tc.change(t, d, path)
			if c, err := identify(); !errors.Is(err, tc.want) || c.Prefix != tc.prefix {
				t.Errorf("%s got %+v, %v", tc.reason, c, err)
			}
		})
	}
}

func TestRegisterOfClients(t *testing.T) {
	t.Parallel()
	d := newTestRegister(t)
	rights := Rights{Regions: []string{"mark"}, Prefix: "ci/"}
	first, _ := d.issueClient(t, "ci", time.Hour)
	second, _ := d.issueClient(t, "ci", time.Hour)
	_, err := d.Add(t.Context(), "ci", rights, first, d.now)
	must(t, err)
	if _, err := d.Add(t.Context(), "ci", rights, second, d.now); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("a name was given twice: %v", err)
	}
	_, err = d.Revoke(t.Context(), "ci", d.now)
	must(t, err)
	if _, err := d.Revoke(t.Context(), "ci", d.now); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	_, err = d.Add(t.Context(), "ci", rights, second, d.now.Add(time.Second))
	must(t, err)
	all, err := d.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Revoked.IsZero() || !all[1].Revoked.IsZero() {
		t.Errorf("got %+v, %v", all, err)
	}
	for name, bad := range map[string]struct {
		name   string
		rights Rights
		text   []byte
	}{
		"Name":        {"../ci", rights, first},
		"NoRegion":    {"a", Rights{Prefix: "ci/"}, first},
		"EmptyRegion": {"a", Rights{Regions: []string{""}, Prefix: "ci/"}, first},
		"NoPrefix":    {"a", Rights{Regions: []string{"mark"}}, first},
		"NoPEM":       {"a", rights, []byte("x")},
	} {
		if _, err := d.Add(t.Context(), bad.name, bad.rights, bad.text, d.now); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRevokeWhatIsValid: a name was given again after its former certificate had expired. A
// revoke covers both certificates. A damaged file beside them is reported, and changes nothing.
func TestRevokeWhatIsValid(t *testing.T) {
	t.Parallel()
	d := newTestRegister(t)
	rights := Rights{Regions: []string{"mark"}, Prefix: "ci/"}
	former, _ := d.issueClient(t, "ci", time.Minute)
	_, err := d.Add(t.Context(), "ci", rights, former, d.now)
	must(t, err)
	d.now = d.now.Add(time.Hour)
	text, valid := d.issueClient(t, "ci", time.Hour)
	added, err := d.Add(t.Context(), "ci", rights, text, d.now)
	must(t, err)
	damaged := filepath.Join(filepath.Dir(d.store.(*clientFolder).clientPath(added.Fingerprint)), "0.json")
	must(t, os.WriteFile(damaged, []byte("{"), 0o600))
	if _, err := d.Revoke(t.Context(), "ci", d.now); err == nil {
		t.Error("nothing was said of the damaged file")
	}
	if _, err := d.Identify(t.Context(), []*x509.Certificate{valid}, d.Pool(), d.now); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("the valid certificate is not revoked: %v", err)
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	ci := Rights{Regions: []string{"a", "b"}, Prefix: OwnerPrefix("ci")}
	all := Rights{Regions: []string{Wildcard}, Prefix: Wildcard}
	for name, tc := range map[string]struct{ got, want bool }{
		"Region":       {ci.MayUse("b"), true},
		"OtherRegion":  {ci.MayUse("c"), false},
		"NoRegion":     {ci.MayUse(""), false},
		"Key":          {ci.MayWrite("ci/web-1"), true},
		"LongerOwner":  {ci.MayWrite("ci2/web-1"), false},
		"NoKey":        {ci.MayWrite(""), false},
		"AnyRegion":    {all.MayUse("c"), true},
		"AnyKey":       {all.MayWrite("x/web-1"), true},
		"NothingGiven": {Rights{}.MayWrite("x"), false},
		"OwnerTwice":   {OwnerPrefix(OwnerPrefix("ci")) == "ci/", true},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %t", name, tc.got)
		}
	}
}

// TestIsMAASAddress: a region is a mark or an address, and the two cannot be confused.
func TestIsMAASAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		region string
		want   bool
	}{
		"Mark":     {"A mark has only letters and digits.", "PM7QYTLEWO3BYX4MC5VB2WNBAE", false},
		"Wildcard": {"The wildcard means all regions.", Wildcard, false},
		"Empty":    {"An empty text names no MAAS.", "", false},
		"Row":      {"The ledger calls a MAAS without a mark by host, port and path.", "maas.example:5240/MAAS", true},
		"URL":      {"A user may write the URL.", "http://maas.example:5240/MAAS", true},
		"Host":     {"A mark has no dot.", "maas.example", true},
		"HostPort": {"A mark has no colon.", "maas:5240", true},
		"HostPath": {"A mark has no slash.", "maas/MAAS", true},
		"IPv6":     {"An IPv6 address has colons.", "[2001:db8::1]:5240/MAAS", true},
	} {
		if got := IsMAASAddress(tc.region); got != tc.want {
			t.Errorf("%s: %s\ngot %t for %q", name, tc.reason, got, tc.region)
		}
	}
}

// TestClientClockBehind: a machine whose clock is an hour behind accepts a certificate that was just
// made.
func TestClientClockBehind(t *testing.T) {
	t.Parallel()
	now := time.Now()
	authority, err := OpenAuthority(t.TempDir(), now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.IssueServer([]string{"ledger.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: authority.Pool(), DNSName: "ledger.example", CurrentTime: now.Add(-time.Hour)})
	if err != nil {
		t.Error(err)
	}
}

// TestRootInAnothersFolder: root is refused, because the service's user could not read its
// files.
func TestRootInAnothersFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	mine := os.Geteuid()
	if mine == 0 {
		const service = 12345
		if err := os.Chown(folder, service, service); err != nil {
			t.Fatal(err)
		}
		_, err := OpenAuthority(folder, time.Now())
		refusal, ok := errors.AsType[*engine.Refusal](err)
		if !ok || !strings.Contains(refusal.Hint, "sudo -u '#12345'") {
			t.Errorf("got %v", err)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
			t.Errorf("something was made: %v, %v", entries, err)
		}
		if err := os.Chown(folder, mine, mine); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		folder string
		user   int
		want   bool
	}{
		"Own":    {folder, mine, true},
		"Within": {filepath.Join(folder, "deep", "clients"), mine, true},
		"Root":   {"/", 0, true},
		"Group":  {"/", 12345, true}, // a volume of a pod belongs to root, and its group may write
	} {
		if err := checkFolderOwner(tc.folder, tc.user); (err == nil) != tc.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
