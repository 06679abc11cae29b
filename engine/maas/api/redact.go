package api

import (
	"strings"

	"github.com/maaslxd/maaslxd/engine/bounded"
)

const (
	// MaxLine bounds MAAS's text in an error, in bytes.
	MaxLine = 300
	// minPassageBytes is the minimum length of a text that counts as copied from a secret.
	minPassageBytes = 12
	// minKeyPartBytes is the minimum length of a key part that is redacted: shorter ones
	// look like ordinary words. MAAS's parts have 18 and 32 characters.
	minKeyPartBytes = 4

	redacted = "[redacted]"
)

// redactor removes secrets from texts.
type redactor struct{ key apiKey }

// redactLine makes one short line of MAAS's text. It removes parts of the API key and
// passages of the request's secrets. It searches the line as people would see it:
// unprintable characters would hide secrets. It searches before it cuts: a cut would leave
// parts of secrets.
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

// Shorten returns one line of at most about 300 bytes.
func Shorten(text string) string { return bounded.TruncateText(bounded.OneLine(text), MaxLine) }

// withoutPassages replaces each passage of text that also occurs in secret.
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

// commonPassages returns where text has passages of this width that also occur in secret.
// It reads secret only once, because it may be a megabyte.
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
