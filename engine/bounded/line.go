package bounded

import (
	"strings"
	"unicode"
)

// OneLine makes one line of a foreign text. It removes characters that a terminal acts on or
// does not show.
func OneLine(text string) string {
	printable := func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c), c == unicode.ReplacementChar:
			return -1
		}
		return c
	}
	return strings.Join(strings.Fields(strings.Map(printable, text)), " ")
}

// TruncateText ends a text after so many bytes, never within a character. An "…" then marks the
// end.
func TruncateText(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
