package condition

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestMessageIsShortened: the API server refuses the whole status where a condition's
// message is longer than 32768 characters.
func TestMessageIsShortened(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"Long": strings.Repeat("A", 40000), "CutWithinALetter": "a" + strings.Repeat("é", 40000), "Short": "short"} {
		got := truncateMessage(text)
		if len(got) > maxMessageLength || !utf8.ValidString(got) || len(text) < maxMessageLength && got != text {
			t.Errorf("%s: %d bytes, valid: %v", name, len(got), utf8.ValidString(got))
		}
	}
}
