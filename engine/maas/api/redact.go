package api

import (
	"strings"

	"github.com/maaslxd/maaslxd/engine/bounded"
)

const (
	// MaxLine bounds MAAS's words in an error, in bytes.
	MaxLine = 300
	// minPassageBytes is the length from which on text that is the same as in a secret
	// counts as taken from it.
	minPassageBytes = 12
	// minKeyPartBytes is the length below which a part of a key cannot be told from
	// ordinary words. MAAS's parts have 18 and 32 characters.
	minKeyPartBytes = 4

	redacted = "[redacted]"
)

// redactor takes out of texts what must not be passed on.
type redactor struct{ key apiKey }

// redactLine makes one short line of what MAAS said, without parts of the API key
// and without passages of the request's secrets. They are searched for in the line
// as people would see it, and before it is cut: what is not printed would hide
// them, and a cut would leave parts of them.
func (d redactor) redactLine(r *Request, text string) string {
	text = bounded.OneLine(text)
	for _, secret := range r.Secrets {
		text = withoutPassages(withoutPassages(text, secret), bounded.OneLine(secret))
	}
	for _, part := range []string{d.key.secret, d.key.token, d.key.consumer} {
		if len(part) >= minKeyPartBytes {
			text = strings.ReplaceAll(text, part, redacted)
		}
	}
	return Shorten(text)
}

// Shorten makes one line of at most about 300 bytes.
func Shorten(text string) string { return bounded.TruncateText(bounded.OneLine(text), MaxLine) }

// withoutPassages replaces each passage of text that also stands in secret.
func withoutPassages(text, secret string) string {
	width := min(minPassageBytes, len(secret))
	if width == 0 || len(text) < width {
		return text
	}
	hidden := make([]bool, len(text))
	for _, at := range commonPassages(text, secret, width) {
		for i := range width {
			hidden[at+i] = true
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(redacted)
		}
	}
	return b.String()
}

// commonPassages returns where text has passages of that width that secret has too.
// The secret may be a megabyte, so it is read once.
func commonPassages(text, secret string, width int) []int {
	places := map[string][]int{}
	for i := 0; i+width <= len(text); i++ {
		passage := text[i : i+width]
		places[passage] = append(places[passage], i)
	}
	var found []int
	for i := 0; i+width <= len(secret) && len(places) > 0; i++ {
		passage := secret[i : i+width]
		found = append(found, places[passage]...)
		delete(places, passage)
	}
	return found
}
