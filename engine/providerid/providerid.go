// Package providerid writes and reads providerIDs, by which Kubernetes knows the Nodes on
// machines of MAAS. It is pure.
package providerid

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Form is the spelling of a providerID.
type Form string

// The forms that are written. Parse reads more.
const (
	// LXD is "maas-lxd://<failure domain>/<system id>", of a VM.
	LXD Form = "maas-lxd://"
	// BareMetal is "maas://<failure domain>/<system id>".
	BareMetal Form = "maas://"
	// LegacyLXD is "maas:///<failure domain>/<system id>", of a VM in the older spelling.
	LegacyLXD Form = "maas:///"
)

// systemID is the pattern of MAAS's id of a machine: six letters and digits now, "node-" and a
// UUID in its first versions.
var systemID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// NodeID identifies the machine of a Node. Two of them mean the same machine if their SystemIDs
// are equal. The Node and its Machine must have the same text.
type NodeID struct {
	Form Form
	// FailureDomain is the availability zone of the machine when it was made; empty: it was
	// unknown then.
	FailureDomain string
	SystemID      string
}

// String is the text of the providerID.
func (p NodeID) String() string {
	return string(p.Form) + url.PathEscape(p.FailureDomain) + "/" + p.SystemID
}

// New is the providerID of a machine. It refuses values that could not be read back: an empty
// failure domain, or an invalid system id.
func New(form Form, failureDomain, id string) (NodeID, error) {
	switch {
	case failureDomain == "":
		return NodeID{}, fmt.Errorf("cannot make a providerID of machine %q: its availability zone is not known", id)
	case !systemID.MatchString(id):
		return NodeID{}, fmt.Errorf("cannot make a providerID: %q is not a system id of MAAS", id)
	}
	return NodeID{Form: form, FailureDomain: failureDomain, SystemID: id}, nil
}

// Parse reads a providerID of any form that was ever written for MAAS:
//
//	maas-lxd://<failure domain>/<system id>
//	maas-lxd:///<failure domain>/<system id>
//	maas://<failure domain>/<system id>
//	maas:///<failure domain>/<system id>
//	maas:////<system id>
//
// Its Form is one of those that are written now, so its String may differ from the text.
func Parse(text string) (NodeID, error) {
	fail := func(why string) (NodeID, error) {
		return NodeID{}, fmt.Errorf("providerID %q %s; it must look like maas://<zone>/<system id> or maas-lxd://<zone>/<system id>", text, why)
	}
	form := LXD
	rest, ok := strings.CutPrefix(text, string(form))
	if !ok {
		form = BareMetal
		if rest, ok = strings.CutPrefix(text, string(form)); !ok {
			return fail("is not of MAAS")
		}
	}
	if shorter, three := strings.CutPrefix(rest, "/"); three {
		rest = shorter
		if form == BareMetal {
			form = LegacyLXD
		}
	}
	domain, id, ok := strings.Cut(rest, "/")
	if !ok || !systemID.MatchString(id) {
		return fail("names no machine of MAAS")
	}
	if plain, err := url.PathUnescape(domain); err == nil {
		domain = plain
	}
	return NodeID{Form: form, FailureDomain: domain, SystemID: id}, nil
}
