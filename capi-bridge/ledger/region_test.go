package ledger

import (
	"io"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
)

// TestNormalizeRegion: the ledger calls a MAAS by its mark, or by an address without a scheme.
func TestNormalizeRegion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		give   string
		want   string
		says   []string // of the error
	}{
		"All":       {reason: "The wildcard means every region.", give: "*", want: "*"},
		"Mark":      {reason: "A mark is kept as it is.", give: "PM7QYTLEWO3BYX4MC5VB2WNBAE", want: "PM7QYTLEWO3BYX4MC5VB2WNBAE"},
		"Address":   {reason: "This is the form that ledger rows shows.", give: "maas.example:5240/MAAS", want: "maas.example:5240/MAAS"},
		"URL":       {reason: "A URL never matches, so it becomes the region's name.", give: "http://Maas.example:5240/MAAS/", want: "maas.example:5240/MAAS"},
		"URLOfAPI":  {reason: "MAAS's command line uses this form.", give: "https://maas.example/MAAS/api/2.0/", want: "maas.example:443/MAAS"},
		"NoPath":    {reason: "MAAS is always at /MAAS.", give: "maas.example:5240", want: "maas.example:5240/MAAS"},
		"IPv6":      {reason: "An address may be a number.", give: "[2001:db8::1]:5240/MAAS", want: "[2001:db8::1]:5240/MAAS"},
		"NoPort":    {reason: "Without a scheme, nobody knows the port.", give: "maas.example/MAAS", says: []string{"--region", `"maas.example/MAAS"`, "no port", "maas.example:5240/MAAS"}},
		"BareHost":  {reason: "A mark has no dot.", give: "maas.example", says: []string{"--region", "no port"}},
		"Scheme":    {reason: "MAAS has HTTP only.", give: "ftp://maas.example", says: []string{"--region", `"ftp://maas.example"`, "http://"}},
		"NoHost":    {reason: "There is nothing to connect to.", give: "http:///MAAS", says: []string{"--region", `"http:///MAAS"`}},
		"Malformed": {reason: "It cannot be read.", give: "http://[::1/MAAS", says: []string{"--region"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := normalizeRegion(tc.give)
			if len(tc.says) == 0 {
				if got != tc.want || err != nil {
					t.Errorf("%s\ngot %q, %v, want %q", tc.reason, got, err, tc.want)
				}
				return
			}
			if err == nil {
				t.Fatalf("%s\n%q passes as %q", tc.reason, tc.give, got)
			}
			text := describeError(err)
			for _, want := range tc.says {
				if !strings.Contains(text, want) {
					t.Errorf("%s\ngot %q, want %q", tc.reason, text, want)
				}
			}
		})
	}
}

// TestRegionURL: a client that was added with a URL may use the region of that MAAS. MAAS then
// gets a mark, and the error names the command that gives the client a right to it.
func TestRegionURL(t *testing.T) {
	t.Parallel()
	s := startTestService(t, t.TempDir())
	c := s.addAndConnectClient("ci", "--region", "http://maas.example:5240/MAAS", "--prefix", "ci")
	row := engine.Row{Key: "ci/web-1", HostKey: "h1", SystemID: "abc123"}
	if err := c.Region("maas.example:5240/MAAS").Bind(t.Context(), row); err != nil {
		t.Errorf("the client may not use the address: %v", err)
	}
	err := c.Region("MARK").TakeOverRegion(t.Context(), "maas.example:5240/MAAS")
	if err == nil {
		t.Fatal("the client may use a mark that it was not given")
	}
	wantInError(t, err, `client ci may not use the region "MARK"`, "maas.example:5240/MAAS", "capi-bridge ledger client add", "--region MARK", "--prefix ci")

	err = runCommand(t.Context(), s.folder, io.Discard, io.Discard, "client", "add", "cd", "--region", "maas.example", "--prefix", "cd")
	if err == nil {
		t.Fatal("an address without a port passes")
	}
	wantInError(t, err, "--region", "maas.example:5240/MAAS")
}

func wantInError(t *testing.T, err error, want ...string) {
	t.Helper()
	text := describeError(err)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("got %q, want %q", text, w)
		}
	}
}

// describeError returns all that a user sees of an error.
func describeError(err error) string {
	var text string
	for _, p := range setting.ExplainError(err) {
		text += p.Message + " " + p.Hint + "\n"
	}
	return text
}
