package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reason is why a host fell out, in words that follow a number of hosts.
type Reason string

// The reasons, in the order in which they are looked for: first what an
// operator decides, then what the host is, then how much room is left.
const (
	Excluded          Reason = "excluded"
	WrongType         Reason = "wrong type"
	WrongZone         Reason = "wrong zone"
	WrongPool         Reason = "wrong resource pool"
	MissingTags       Reason = "missing tags"
	NeverReached      Reason = "never reached"
	Unusable          Reason = "unusable"
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

// filter is one way to fall out, and the sentence about it.
type filter struct {
	reason  Reason
	passing bool // may end without anyone changing the need or what the host is
	fits    func(*host, *request) bool
	detail  func(*host, *request) string
}

// filters are in the order of the reasons.
var filters = [...]filter{
	{Excluded, false, notExcluded, func(*host, *request) string { return "excluded from this placement" }},
	{WrongType, false, rightType, func(h *host, r *request) string { return unequal("type", h.Type, r.Type) }},
	{WrongZone, false, rightZone, func(h *host, r *request) string { return unequal("zone", h.Zone, r.Zone) }},
	{WrongPool, false, rightPool, func(h *host, r *request) string { return unequal("resource pool", h.Pool, r.Pool) }},
	{MissingTags, false, hasTags, func(h *host, r *request) string { return lacks("tags", h.Tags, r.Tags) }},
	{NeverReached, true, reached, func(h *host, _ *request) string { return cmp.Or(h.Silence, "MAAS never reached its LXD") }},
	{Unusable, false, usable, func(h *host, _ *request) string { return h.Unusable }},
	{WrongArchitecture, false, hasArchitecture, func(h *host, r *request) string {
		return lacks("architecture", h.Architectures, []string{r.Architecture})
	}},
	{NoProject, false, hasProject, func(h *host, r *request) string { return lacks("project", h.Projects, []string{r.Project}) }},
	{NoProfile, false, hasProfile, func(h *host, r *request) string { return lacks("profile", h.Profiles, []string{r.Profile}) }},
	{NoNetwork, false, hasNetworks, func(h *host, r *request) string { return lacks("networks", h.Networks, r.Networks) }},
	{NoStoragePool, false, hasStoragePools, storagePoolDetail},
	{TooSmall, false, largeEnough, tooSmallDetail},
	{TooFewCores, true, hasCores, coresDetail},
	{TooLittleMemory, true, hasMemory, memoryDetail},
	{TooFewHugePages, true, hasHugePages, hugePagesDetail},
	{TooLittleStorage, true, hasStorage, storageDetail},
}

// fits reports whether the VM fits on the host as it is now.
func (h *host) fits(r *request) bool { return h.misfit(r) == nil }

// misfit returns the first filter by which the host falls out, nil if it fits.
func (h *host) misfit(r *request) *filter {
	for i := range filters {
		if !filters[i].fits(h, r) {
			return &filters[i]
		}
	}
	return nil
}

func notExcluded(h *host, r *request) bool { return !slices.Contains(r.Excluded, h.ID) }
func rightType(h *host, r *request) bool   { return h.Type == r.Type }
func rightZone(h *host, r *request) bool   { return r.Zone == "" || h.Zone == r.Zone }
func rightPool(h *host, r *request) bool   { return r.Pool == "" || h.Pool == r.Pool }
func hasTags(h *host, r *request) bool     { return containsAll(h.Tags, r.Tags) }
func reached(h *host, _ *request) bool     { return !h.NeverReached }
func usable(h *host, _ *request) bool      { return h.Unusable == "" }
func hasNetworks(h *host, r *request) bool { return containsAll(h.Networks, r.Networks) }

func hasArchitecture(h *host, r *request) bool {
	return r.Architecture == "" || slices.Contains(h.Architectures, r.Architecture)
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

func unequal(what, have, want string) string {
	return fmt.Sprintf("%s %q, wanted %q", what, have, want)
}

func lacks(what string, have, want []string) string {
	missing := slices.DeleteFunc(slices.Clone(want), func(w string) bool { return slices.Contains(have, w) })
	return fmt.Sprintf("%s %s not among %s", what, quoted(missing), quoted(have))
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	return `"` + strings.Join(names, `", "`) + `"`
}
