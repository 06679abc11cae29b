package bounded

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestOneLine(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, text, want string }{
		"Plain":    {"What is one line stays.", "no room on h1", "no room on h1"},
		"Lines":    {"A line of a log must not look like two.", "a\n\tb\r\n  c\u2028d", "a b c d"},
		"Terminal": {"Colours and bells are acted on.", "\x1b[31mred\a\x00", "[31mred"},
		"Unseen":   {"What is not shown hides what is next to it.", "se\u200bcret\ufffd", "secret"},
		"Broken":   {"It is no text.", "a\xff\xfeb", "ab"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := OneLine(tc.text); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// FuzzOneLine: whatever others write becomes one short line of what can be shown.
func FuzzOneLine(f *testing.F) {
	f.Add("plain", 300)
	f.Add("é…\u2028\x1b[2J", 2)
	f.Add(strings.Repeat("ü", 400), 301)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(0, limit)
		got := TruncateText(OneLine(text), limit)
		if len(got) > limit && len(got)-len("…") > limit {
			t.Fatalf("%d bytes of at most %d", len(got), limit)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Fatalf("%q became %q", text, got)
		}
		if again := OneLine(OneLine(text)); again != OneLine(text) {
			t.Fatalf("%q is changed again, to %q", text, again)
		}
	})
}
