package api

import (
	"regexp"
	"strings"

	"github.com/maaslxd/maaslxd/engine/bounded"
)

const (
	// maxOutputLine bounds a line of a script's output, in bytes.
	maxOutputLine = 160
	// maxOutput bounds how much of the end of an output is read, in bytes. A secret that
	// this cuts is usually far before the lines that are shown.
	maxOutput = 64 << 10
)

// credentialPatterns match texts that look like a secret, from any source: a machine can
// write anything into its logs. The texts in $1 and $2 stay.
var credentialPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`),
	regexp.MustCompile(`(?s)\A[^-]*-----END [A-Z0-9 ]+-----`),                                   // one whose beginning was cut off
	regexp.MustCompile(`\b[A-Za-z0-9]{18}:[A-Za-z0-9]{18}:[A-Za-z0-9]{32}\b`),                   // a key of MAAS's API
	regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@]+(@)`),                               // in an address
	regexp.MustCompile(`\$[0-9a-z]{1,2}\$[^\s:"']{8,}`),                                         // a hash of crypt(3)
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`),                           // a JSON web token
	regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),                                         // a token of kubeadm
	regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*)[^\r\n]+`),                          // an HTTP header
	regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}`),                     // a part of an HTTP header
	regexp.MustCompile(`(?i)((?:^|\s)--?[\w-]*` + secretWord + `[\w-]*[ \t]+)[^\s-]\S*`),        // a flag
	regexp.MustCompile(`((?:^|\s)(?:-u|--user)[ =]?[^\s:]+:)\S+`),                               // a flag of curl
	regexp.MustCompile(`(\becho\s+["']?[^\s:"']+:)[^\s"']+(["']?\s*\|\s*(?:sudo\s+)?chpasswd)`), // a password in a pipe
	regexp.MustCompile(`(?i)(` + secretWord + `[\w.-]*["']?\s*[:=]>?\s*)` + secretValue),        // a setting
}

const (
	secretWord = `(?:passw(?:or)?d|passphrase|secret|token|credential|(?:api|private|consumer|access|secret|encryption|license|certificate)[_-]?key|pre-?shared[_-]?key|psk)`
	// secretValue is a quoted text, or one word.
	secretValue = `(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;}\]]+)`
)

// terminalEscapes are sequences that a terminal would execute.
var terminalEscapes = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)

// WithoutCredentials removes from a text everything that looks like a secret.
func WithoutCredentials(text string) string {
	for _, c := range credentialPatterns {
		text = c.ReplaceAllString(text, "${1}"+redacted+"${2}")
	}
	return text
}

// Redact makes one short line of a text by a machine or a user. It removes this client's
// key, passages of the secrets, and everything that looks like a secret.
func (c *Client) Redact(text string, secrets ...string) string {
	text = bounded.OneLine(terminalEscapes.ReplaceAllString(text, ""))
	return c.redact.redactLine(&Request{Secrets: secrets}, WithoutCredentials(text))
}

// RedactLastLines is Redact for the last lines of a text. Lines without a word are omitted.
func (c *Client) RedactLastLines(text string, most int, secrets ...string) []string {
	text = text[max(0, len(text)-maxOutput):]
	text = terminalEscapes.ReplaceAllString(text, "")
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if line = bounded.OneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	lines = strings.Split(WithoutCredentials(strings.Join(lines, "\n")), "\n")
	var end []string
	for _, line := range lines[max(0, len(lines)-most):] {
		if line = c.redact.redactLine(&Request{Secrets: secrets}, line); line != "" {
			end = append(end, bounded.TruncateText(line, maxOutputLine))
		}
	}
	return end
}
