package v1beta1

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// ProviderIDForm is how a providerID is written.
type ProviderIDForm string

// The forms that are written. More are read: see ParseProviderID.
const (
	// ProviderIDLXD is "maas-lxd://<failure domain>/<system id>", of a VM.
	ProviderIDLXD ProviderIDForm = "maas-lxd://"
	// ProviderIDBareMetal is "maas://<failure domain>/<system id>".
	ProviderIDBareMetal ProviderIDForm = "maas://"
	// ProviderIDOlder is "maas:///<failure domain>/<system id>", of a VM that
	// was asked for in the older way.
	ProviderIDOlder ProviderIDForm = "maas:///"
)

// systemID is MAAS's id of a machine: six letters and digits now, "node-" and
// a UUID in its first versions.
var systemID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// ProviderID is by what a Node is found. Two of them are the same machine if
// their SystemIDs are the same; of the Node and of its Machine the texts must
// be the same.
//
// +kubebuilder:object:generate=false
type ProviderID struct {
	Form ProviderIDForm
	// FailureDomain is the availability zone that the machine was in when it was
	// made; empty: it was not known then.
	FailureDomain string
	SystemID      string
}

// String is the text of the providerID.
func (p ProviderID) String() string {
	return string(p.Form) + url.PathEscape(p.FailureDomain) + "/" + p.SystemID
}

// NewProviderID is that of a machine. It refuses what could not be read back:
// no failure domain, or a system id that is none.
func NewProviderID(form ProviderIDForm, failureDomain, id string) (ProviderID, error) {
	switch {
	case failureDomain == "":
		return ProviderID{}, fmt.Errorf("cannot make a providerID of machine %q: its availability zone is not known", id)
	case !systemID.MatchString(id):
		return ProviderID{}, fmt.Errorf("cannot make a providerID: %q is no system id of MAAS", id)
	}
	return ProviderID{Form: form, FailureDomain: failureDomain, SystemID: id}, nil
}

// ParseProviderID reads a providerID of any form that was ever written for
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
func ParseProviderID(text string) (ProviderID, error) {
	fail := func(why string) (ProviderID, error) {
		return ProviderID{}, fmt.Errorf("providerID %q %s; it must look like maas://<zone>/<system id> or maas-lxd://<zone>/<system id>", text, why)
	}
	form := ProviderIDLXD
	rest, ok := strings.CutPrefix(text, string(form))
	if !ok {
		form = ProviderIDBareMetal
		if rest, ok = strings.CutPrefix(text, string(form)); !ok {
			return fail("is not of MAAS")
		}
	}
	if shorter, three := strings.CutPrefix(rest, "/"); three {
		rest = shorter
		if form == ProviderIDBareMetal {
			form = ProviderIDOlder
		}
	}
	domain, id, ok := strings.Cut(rest, "/")
	if !ok || !systemID.MatchString(id) {
		return fail("names no machine of MAAS")
	}
	if plain, err := url.PathUnescape(domain); err == nil {
		domain = plain
	}
	return ProviderID{Form: form, FailureDomain: domain, SystemID: id}, nil
}
