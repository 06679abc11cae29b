package providerid

import (
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   NodeID
		fails  bool
	}{
		"LXD":             {"What VMs get.", "maas-lxd://az1/abc123", NodeID{LXD, "az1", "abc123"}, false},
		"LXDThreeSlashes": {"Written by hand in the other manner.", "maas-lxd:///az1/abc123", NodeID{LXD, "az1", "abc123"}, false},
		"BareMetal":       {"What bare metal gets.", "maas://az1/abc123", NodeID{BareMetal, "az1", "abc123"}, false},
		"Older":           {"What older versions wrote for both.", "maas:///az1/abc123", NodeID{LegacyLXD, "az1", "abc123"}, false},
		"OlderNoZone":     {"Older versions wrote this of VMs that asked for no zone.", "maas:////abc123", NodeID{LegacyLXD, "", "abc123"}, false},
		"Space":           {"MAAS takes blanks in the names of zones; a providerID is a URL.", "maas://rack%20row/abc123", NodeID{BareMetal, "rack row", "abc123"}, false},
		"BareSpace":       {"Older versions wrote blanks as they are.", "maas:///rack row/abc123", NodeID{LegacyLXD, "rack row", "abc123"}, false},
		"LongID":          {"The first versions of MAAS had ids with a UUID.", "maas:///default/node-2b9d1f7e-1", NodeID{LegacyLXD, "default", "node-2b9d1f7e-1"}, false},
		"Empty":           {"Nothing is no providerID.", "", NodeID{}, true},
		"Stranger":        {"Another provider's Node.", "aws:///us-east-1a/i-0123", NodeID{}, true},
		"NoMachine":       {"A zone alone is no machine.", "maas://az1/", NodeID{}, true},
		"NoZoneNoMachine": {"Without a slash there is no telling which it is.", "maas://abc123", NodeID{}, true},
		"TooMany":         {"A system id has no slash.", "maas://az1/abc/123", NodeID{}, true},
		"Blank":           {"A system id has no blank.", "maas://az1/abc 123", NodeID{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tc.text)
			if (err != nil) != tc.fails || got != tc.want {
				t.Errorf("%s\nParseProviderID(%q) = %+v, %v, want %+v", tc.reason, tc.text, got, err, tc.want)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		form     Form
		zone, id string
		want     string
		fails    bool
	}{
		"LXD":       {"The form of VMs.", LXD, "az1", "abc123", "maas-lxd://az1/abc123", false},
		"BareMetal": {"The form of bare metal.", BareMetal, "az1", "abc123", "maas://az1/abc123", false},
		"Older":     {"VMs asked for by lxd.enabled keep the form that they always had.", LegacyLXD, "az1", "abc123", "maas:///az1/abc123", false},
		"Escaped":   {"A slash in a zone's name must not end it.", LXD, "a/b c", "abc123", "maas-lxd://a%2Fb%20c/abc123", false},
		"NoZone":    {"A Node keeps its providerID: it is not written before the zone is known.", LXD, "", "abc123", "", true},
		"NoID":      {"Nothing could be found by it.", LXD, "az1", "", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := New(tc.form, tc.zone, tc.id)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nerror %v", tc.reason, err)
			}
			if err == nil && got.String() != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// FuzzProviderID wants what is written to be read back, and what is read and
// written to be read as the same machine.
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{"maas:///az1/abc123", "maas://az1/abc123", "maas-lxd://a%2Fb/abc", "maas:////abc", "maas:///%zz/abc", "maas-lxd:///az/abc"} {
		f.Add(seed, "az 1/%")
	}
	f.Fuzz(func(t *testing.T, text, zone string) {
		read, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(read.String())
		if err != nil || again != read {
			t.Errorf("%q is %+v, which is written %s and read as %+v, %v", text, read, read, again, err)
		}
		if made, err := New(read.Form, zone, read.SystemID); err == nil {
			if again, err := Parse(made.String()); err != nil || again != made {
				t.Errorf("%+v is written %s and read as %+v, %v", made, made, again, err)
			}
		}
	})
}
