package cloudinit

import (
	"bytes"
	"regexp"
	"strings"
)

// The kinds of parts that cloud-init runs, as MIME types.
const (
	kindConfig      = "text/cloud-config"
	kindArchive     = "text/cloud-config-archive"
	kindPatch       = "text/cloud-config-jsonp"
	kindJinja       = "text/jinja2"
	kindScript      = "text/x-shellscript"
	kindBoothook    = "text/cloud-boothook"
	kindInclude     = "text/x-include-url"
	kindIncludeOnce = "text/x-include-once-url"
	kindHandler     = "text/part-handler"
)

// kindPrefixes map the first words of user-data to its kind, as cloud-init does
// (handlers/__init__.py, INCLUSION_TYPES_MAP). The longest match counts, so longer prefixes
// come first.
var kindPrefixes = []struct{ prefix, kind string }{
	{"#cloud-config-archive", kindArchive},
	{"#cloud-config-jsonp", kindPatch},
	{"#cloud-config", kindConfig},
	{"#cloud-boothook", kindBoothook},
	{"#include-once", kindIncludeOnce},
	{"#include", kindInclude},
	{"#part-handler", kindHandler},
	{"## template: jinja", kindJinja},
	{"#!", kindScript},
}

// headerOnlyKinds are kinds that only a MIME header can set.
var headerOnlyKinds = []string{
	"text/x-shellscript-per-boot", "text/x-shellscript-per-instance", "text/x-shellscript-per-once",
}

// part is a piece of user-data of one kind.
type part struct {
	kind     string
	name     string            // file name; empty: cloud-init numbers it
	headers  map[string]string // those of carriedHeaders that it had
	body     []byte
	document int    // number of its document
	label    string // its part of the document, for people; empty: the whole
	entry    int    // entry of an archive, from 1; 0: none
}

// carriedHeaders are the headers that cloud-init uses.
var carriedHeaders = []string{"Launch-Index", "Merge-Type", "X-Merge-Type"}

// labelPattern matches a file name that messages may show. Other parts are named by their
// number.
var labelPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// detectKind returns the kind of a text by its beginning; empty if it is unknown.
func detectKind(body []byte) string {
	start := strings.ToLower(string(bytes.TrimSpace(body[:min(len(body), 4096)])))
	for _, b := range kindPrefixes {
		if strings.HasPrefix(start, b.prefix) {
			return b.kind
		}
	}
	return ""
}

// mergeError is a MergeError about the part. User-data is secret: message and hint must not
// quote it, or a parser's error, which quotes its input.
func (p part) mergeError(message, hint string) *MergeError {
	return &MergeError{Document: p.document, Part: p.label, Message: message, Hint: hint}
}
