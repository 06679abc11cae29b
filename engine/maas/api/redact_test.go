package api

import (
	"strings"
	"testing"
)

func TestRedactionKeepsTheRest(t *testing.T) {
	t.Parallel()
	d := redactor{key: apiKey{"consumer", "token", "abc"}}
	cases := map[string]struct{ reason, text, want string }{
		"Plain":    {"What holds no secret stays.", "Can't deploy it", "Can't deploy it"},
		"Key":      {"Whole parts are taken out.", "bad token of consumer", "bad [redacted] of [redacted]"},
		"Short":    {"A part of three letters would spoil every text.", "abcdef", "abcdef"},
		"Passage":  {"A passage of user-data goes, what stands around it stays.", "line 1: runcmd: [rm -rf /] is bad", "line 1: [redacted] is bad"},
		"OneLine":  {"Errors are one line.", "a\n\tb\x00c", "a bc"},
		"NotUTF8":  {"Errors are text.", "a\xffb", "ab"},
		"TooShort": {"What is shorter than a passage is chance.", "runcmd", "runcmd"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Request{Secrets: []string{"#cloud-config\nruncmd: [rm -rf /]\n", ""}}
			if got := d.redactLine(r, tc.text); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRedactionComesBeforeTheCut: a cut through a secret would leave a part that is too
// short to be recognized.
func TestRedactionComesBeforeTheCut(t *testing.T) {
	t.Parallel()
	r := &Request{Secrets: []string{"correct-horse-battery-staple"}}
	for kept := 1; kept < len(r.Secrets[0]); kept++ {
		text := strings.Repeat("x", MaxLine-kept) + r.Secrets[0]
		if got := (redactor{}).redactLine(r, text); strings.Contains(got, r.Secrets[0][:1]) && !strings.Contains(got, "[") {
			t.Fatalf("%d letters of the secret are said: %q", kept, got[MaxLine-kept:])
		}
	}
}
