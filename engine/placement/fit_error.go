package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FitError says that no host fits, and why each of them was rejected.
type FitError struct {
	rejections  []Rejection
	isTemporary bool
}

// Rejection says which filter rejected a host first.
type Rejection struct {
	HostID, HostName string
	Reason           Reason
	Detail           string // "8 cores needed, 3 of 16 free"
	// Architecture is the host's, such as "arm64", if it is the reason.
	Architecture string
	// Shortage is the missing resource, if room is the reason.
	Shortage Shortage
}

// Shortage is a resource of a host that is not enough for a need.
type Shortage struct {
	Resource Resource // empty: room is not the reason
	// StoragePool is the pool, if Resource is Storage.
	StoragePool string
	// Needed, Free and Total are in cores, in MiB, or for Storage in GB (decimal). For
	// PinnedCores, Needed is the highest core number. Total does not include over-commit.
	Needed, Free, Total int64
}

// Resource is a kind of room.
type Resource string

// The resources.
const (
	Cores       Resource = "cores"
	PinnedCores Resource = "pinned cores"
	Memory      Resource = "memory"
	HugePages   Resource = "huge pages"
	Storage     Resource = "storage"
)

// String is a line for people.
func (m Rejection) String() string {
	return fmt.Sprintf("%s: %s: %s", cmp.Or(m.HostName, m.HostID), m.Reason, m.Detail)
}

// Error counts the reasons, the most frequent one first. Equally frequent reasons keep the
// order of the filters: "0/12 hosts fit: 7 too few cores, 3 wrong zone, 2 never reached".
func (e *FitError) Error() string {
	if len(e.rejections) == 0 {
		return "there is no VM host to place on"
	}
	counts := map[Reason]int{}
	for _, m := range e.rejections {
		counts[m.Reason]++
	}
	var reasons []Reason
	for _, f := range filters {
		if counts[f.reason] > 0 {
			reasons = append(reasons, f.reason)
		}
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return counts[b] - counts[a] })
	parts := make([]string, len(reasons))
	for i, r := range reasons {
		parts[i] = fmt.Sprintf("%d %s", counts[r], r)
	}
	return fmt.Sprintf("0/%d hosts fit: %s", len(e.rejections), strings.Join(parts, ", "))
}

// Rejections returns why each host was rejected, sorted by the hosts' names, then their ids.
func (e *FitError) Rejections() []Rejection { return slices.Clone(e.rejections) }

// IsTemporary reports whether waiting may help. Either some host lacks only room that VMs hold,
// or MAAS never reached it. If not, you must change the need or the hosts.
func (e *FitError) IsTemporary() bool { return e.isTemporary }

func newFitError(hosts []host, r *request) error {
	e := &FitError{rejections: make([]Rejection, 0, len(hosts))}
	for i := range hosts {
		h := &hosts[i]
		m := h.firstRejection(r)
		one := Rejection{HostID: h.ID, HostName: h.Name, Reason: m.reason, Detail: m.detail(h, r), Shortage: h.shortageFor(m.reason, r)}
		if m.reason == WrongArchitecture {
			one.Architecture = h.architectureText()
		}
		e.rejections = append(e.rejections, one)
		e.isTemporary = e.isTemporary || m.isTemporary
	}
	slices.SortStableFunc(e.rejections, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(a.HostName, b.HostName), cmp.Compare(a.HostID, b.HostID))
	})
	return e
}
