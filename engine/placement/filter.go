package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reason says why a host was rejected, in words that follow a number of hosts.
type Reason string

// The reasons, in the order of the checks: first what an operator decides, then what the host
// is, then how much room is left.
const (
	Excluded          Reason = "excluded"
	WrongType         Reason = "wrong type"
	WrongZone         Reason = "wrong zone"
	WrongPool         Reason = "wrong resource pool"
	MissingTags       Reason = "missing tags"
	HostNeverReached  Reason = "never reached"
	HostUnusable      Reason = "unusable"
	WrongArchitecture Reason = "wrong architecture"
	NoProject         Reason = "no such project"
	NoProfile         Reason = "no such profile"
	NoNetwork         Reason = "not on the network"
	NoStoragePool     Reason = "no such storage pool"
	TooSmall          Reason = "too small even when empty"
	TooFewCores       Reason = "too few cores"
	TooLittleMemory   Reason = "too little memory"
	TooFewHugePages   Reason = "too few huge pages"
	TooLittleStorage  Reason = "too little storage"
)

// filter is one check, its reason, and the sentence about a rejection.
type filter struct {
	reason      Reason
	isTemporary bool // may end although nobody changes the need or the host
	accepts     func(*host, *request) bool
	detail      func(*host, *request) string
}

// filters are in the order of the reasons.
var filters = [...]filter{
	{Excluded, false, isNotExcluded, func(*host, *request) string { return "excluded from this placement" }},
	{WrongType, false, hasType, func(h *host, r *request) string { return mismatchText("type", h.Type, r.Type) }},
	{WrongZone, false, isInZone, func(h *host, r *request) string { return mismatchText("zone", h.Zone, r.Zone) }},
	{WrongPool, false, isInPool, func(h *host, r *request) string { return mismatchText("resource pool", h.Pool, r.Pool) }},
	{MissingTags, false, hasTags, func(h *host, r *request) string { return missingText("tag", h.Tags, r.Tags) }},
	{HostNeverReached, true, wasReached, func(h *host, _ *request) string { return cmp.Or(h.NeverReachedReason, "MAAS never reached its LXD") }},
	{HostUnusable, false, isUsable, func(h *host, _ *request) string { return h.UnusableReason }},
	{WrongArchitecture, false, hasArchitecture, architectureDetail},
	{NoProject, false, hasProject, func(h *host, r *request) string { return missingText("project", h.Projects, []string{r.Project}) }},
	{NoProfile, false, hasProfile, func(h *host, r *request) string { return missingText("profile", h.Profiles, []string{r.Profile}) }},
	{NoNetwork, false, hasNetworks, func(h *host, r *request) string { return missingText("network", h.Networks, r.Networks) }},
	{NoStoragePool, false, hasStoragePools, storagePoolDetail},
	{TooSmall, false, isLargeEnough, tooSmallDetail},
	{TooFewCores, true, hasCores, coresDetail},
	{TooLittleMemory, true, hasMemory, memoryDetail},
	{TooFewHugePages, true, hasHugePages, hugePagesDetail},
	{TooLittleStorage, true, hasStorage, storageDetail},
}

// accepts reports whether the VM fits on the host as it is now.
func (h *host) accepts(r *request) bool { return h.firstRejection(r) == nil }

// firstRejection returns the first filter that rejects the host, nil if the VM fits.
func (h *host) firstRejection(r *request) *filter {
	for i := range filters {
		if !filters[i].accepts(h, r) {
			return &filters[i]
		}
	}
	return nil
}

func isNotExcluded(h *host, r *request) bool { return !slices.Contains(r.Excluded, h.ID) }
func hasType(h *host, r *request) bool       { return h.Type == r.Type }
func isInZone(h *host, r *request) bool      { return r.Zone == "" || h.Zone == r.Zone }
func isInPool(h *host, r *request) bool      { return r.Pool == "" || h.Pool == r.Pool }
func hasTags(h *host, r *request) bool       { return containsAll(h.Tags, r.Tags) }
func wasReached(h *host, _ *request) bool    { return !h.NeverReached }
func isUsable(h *host, _ *request) bool      { return h.UnusableReason == "" }
func hasNetworks(h *host, r *request) bool   { return containsAll(h.Networks, r.Networks) }

func hasArchitecture(h *host, r *request) bool {
	return len(r.Architectures) == 0 || len(h.Architectures) == 0 || slices.ContainsFunc(h.Architectures, r.suitsArchitecture)
}

// suitsArchitecture tells whether VMs of an architecture, "amd64/generic", suit the need.
func (r *request) suitsArchitecture(have string) bool {
	return slices.ContainsFunc(r.Architectures, func(want string) bool { return want == have || want == ShortArchitecture(have) })
}

// ShortArchitecture is an architecture without its kind: "amd64" of "amd64/generic".
func ShortArchitecture(name string) string {
	short, _, _ := strings.Cut(name, "/")
	return short
}

func architectureDetail(h *host, r *request) string {
	if r.Image == "" {
		return missingText("architecture", h.Architectures, r.Architectures)
	}
	return fmt.Sprintf("it is %s; MAAS has %s for %s only", h.architectureText(), r.Image, strings.Join(r.Architectures, ", "))
}

// architectureText lists the short architectures of the host.
func (h *host) architectureText() string {
	short := make([]string, len(h.Architectures))
	for n, name := range h.Architectures {
		short[n] = ShortArchitecture(name)
	}
	return strings.Join(short, ", ")
}

func hasProject(h *host, r *request) bool {
	return r.Project == "" || slices.Contains(h.Projects, r.Project)
}

func hasProfile(h *host, r *request) bool {
	return r.Profile == "" || slices.Contains(h.Profiles, r.Profile)
}

func containsAll(have, want []string) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}

func mismatchText(what, have, want string) string {
	return fmt.Sprintf("%s %q, wanted %q", what, have, want)
}

// missingText names what the host lacks, and what it has instead. The word what is a singular
// whose plural ends in s.
func missingText(what string, have, want []string) string {
	missing := slices.DeleteFunc(slices.Clone(want), func(w string) bool { return slices.Contains(have, w) })
	if len(missing) > 1 {
		what += "s"
	}
	return fmt.Sprintf("it does not have the %s %s (it has %s)", what, quoteNames(missing), quoteNames(have))
}

func quoteNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return `"` + strings.Join(names, `", "`) + `"`
}
