package engine

import (
	"strings"
	"testing"
)

func TestMarkInDescription(t *testing.T) {
	const key = Key("team-a/web-1")
	mine := MarkerOf(key)
	cases := map[string]struct {
		reason      string
		description string
		finished    bool
		want        string
	}{
		"Empty": {
			reason: "A newborn gets the marker alone, and is in progress.",
			want:   mine + " team-a/web-1 (in progress)",
		},
		"Finishing": {
			reason:      "Finishing changes the line in place.",
			description: mine + " team-a/web-1 (in progress)", finished: true,
			want: mine + " team-a/web-1",
		},
		"KeepsOthersText": {
			reason:      "What people wrote stays.",
			description: "do not touch\n\ncall Ops\n", finished: true,
			want: "do not touch\n\ncall Ops\n" + mine + " team-a/web-1",
		},
		"ReplacesAnotherMarker": {
			reason:      "A machine that was imported belongs to its new key only.",
			description: MarkerOf("team-b/db") + " team-b/db", finished: true,
			want: mine + " team-a/web-1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := DescriptionWithMark(tc.description, key, tc.finished)
			if got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
			owner, finished := MarkerIn(got)
			if owner != mine || finished != tc.finished {
				t.Errorf("read back: %q, %t; want %q, %t", owner, finished, mine, tc.finished)
			}
			if again := DescriptionWithMark(got, key, tc.finished); again != got {
				t.Errorf("a repetition changes %q to %q", got, again)
			}
		})
	}
}

// TestDescriptionText replaces what people said in a description, and keeps what is ours.
func TestDescriptionText(t *testing.T) {
	const ours = "maaslxd: LXD calls it blue\nfixed by maaslxd: 10.0.0.7\nmaaslxd-0123456789ab team-a/web-1"
	cases := map[string]struct{ reason, description, text, want string }{
		"Replaces": {"Our lines stay, in their order.", "maaslxd: LXD calls it blue\nold\n\nlines\nfixed by maaslxd: 10.0.0.7\nmaaslxd-0123456789ab team-a/web-1", "new\n\nlines\n", "new\n\nlines\n" + ours},
		"Clears":   {"An empty text leaves our lines.", "old\n" + ours, "", ours},
		"Same":     {"The same text changes nothing, wherever it stands.", ours + "\n old ", "old\n", ours + "\n old "},
		"First":    {"A machine without lines of ours gets the text.", "", "new", "new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := DescriptionWithText(tc.description, tc.text)
			if got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
			if text := DescriptionText(got); text != strings.TrimSpace(tc.text) {
				t.Errorf("%s\nread back: %q", tc.reason, text)
			}
		})
	}
}

func TestDescribedByNobody(t *testing.T) {
	for _, description := range []string{"", "hello", "not-maaslxd-0123"} {
		if owner, finished := MarkerIn(description); owner != "" || finished {
			t.Errorf("MarkerIn(%q) = %q, %t; want nobody", description, owner, finished)
		}
	}
}

func TestMarkersDiffer(t *testing.T) {
	if MarkerOf("a/b") == MarkerOf("a/c") {
		t.Error("two keys have one marker")
	}
	// A disk's tag in MAAS takes letters, digits, hyphens; compose's storage
	// string would break at others.
	if !dnsLabelPattern.MatchString(MarkerOf("a/b")) {
		t.Errorf("%q is no label", MarkerOf("a/b"))
	}
}
