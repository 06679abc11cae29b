// Package providerid writes and reads the providerIDs by which Kubernetes knows the Nodes
// on machines of MAAS. It is pure.
package providerid

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Form is how a providerID is written.
type Form string

// The forms that are written. More are read: see Parse.
const (
	// LXD is "maas-lxd://<failure domain>/<system id>", of a VM.
	LXD Form = "maas-lxd://"
	// BareMetal is "maas://<failure domain>/<system id>".
	BareMetal Form = "maas://"
	// LegacyLXD is "maas:///<failure domain>/<system id>", of a VM that
	// was asked for in the older way.
	LegacyLXD Form = "maas:///"
)

// systemID is MAAS's id of a machine: six letters and digits now, "node-" and
// a UUID in its first versions.
var systemID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// NodeID is by what a Node is found. Two of them are the same machine if their SystemIDs are
// the same; of the Node and of its Machine the texts must be the same.
type NodeID struct {
	Form Form
	// FailureDomain is the availability zone that the machine was in when it was
	// made; empty: it was not known then.
	FailureDomain string
	SystemID      string
}

// String is the text of the providerID.
func (p NodeID) String() string {
	return string(p.Form) + url.PathEscape(p.FailureDomain) + "/" + p.SystemID
}

// New is the providerID of a machine. It refuses what could not be read back: no failure
// domain, or a system id that is none.
func New(form Form, failureDomain, id string) (NodeID, error) {
	switch {
	case failureDomain == "":
		return NodeID{}, fmt.Errorf("cannot make a providerID of machine %q: its availability zone is not known", id)
	case !systemID.MatchString(id):
		return NodeID{}, fmt.Errorf("cannot make a providerID: %q is no system id of MAAS", id)
	}
	return NodeID{Form: form, FailureDomain: failureDomain, SystemID: id}, nil
}

// Parse reads a providerID of any form that was ever written for
// MAAS:
//
//	maas-lxd://<failure domain>/<system id>
//	maas-lxd:///<failure domain>/<system id>
//	maas://<failure domain>/<system id>
//	maas:///<failure domain>/<system id>
//	maas:////<system id>
//
// Its Form is one of those that are written, so its String may be another
// text.
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
