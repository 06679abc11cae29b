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

// kindPrefixes tell a kind by its first words, as cloud-init does
// (handlers/__init__.py, INCLUSION_TYPES_MAP): the longest that fits counts,
// so longer ones stand before those that they begin with.
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

// headerOnlyKinds are kinds that only a MIME header can give.
var headerOnlyKinds = []string{
	"text/x-shellscript-per-boot", "text/x-shellscript-per-instance", "text/x-shellscript-per-once",
}

// part is a piece of user-data of one kind.
type part struct {
	kind     string
	name     string            // file name; empty: cloud-init numbers it
	headers  map[string]string // of carried, those that it had
	body     []byte
	document int    // which document it came in
	label    string // which part of it, for people; empty: the whole
	entry    int    // which entry of an archive, from 1; 0: it is none
}

// carriedHeaders are the headers that mean something to cloud-init.
var carriedHeaders = []string{"Launch-Index", "Merge-Type", "X-Merge-Type"}

// labelPattern is a file name that can stand in a message as it is; a part with
// another one goes by its number.
var labelPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// detectKind tells the kind of a text by how it begins; empty: none that is known.
func detectKind(body []byte) string {
	start := strings.ToLower(string(bytes.TrimSpace(body[:min(len(body), 4096)])))
	for _, b := range kindPrefixes {
		if strings.HasPrefix(start, b.prefix) {
			return b.kind
		}
	}
	return ""
}

// mergeError is a MergeError about the part. User-data is secret: neither text may
// hold a word of it, and so none of a parser's error, which quotes its input.
func (p part) mergeError(message, hint string) *MergeError {
	return &MergeError{Document: p.document, Part: p.label, Message: message, Hint: hint}
}
