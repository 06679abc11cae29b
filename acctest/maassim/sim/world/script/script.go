// Package script has the scripts that MAAS runs on a machine, and their results.
package script

import (
	"cmp"
	"slices"
	"time"
)

// Kind is the purpose of a set of scripts (metadataserver/enum.py, RESULT_TYPE).
type Kind int

// The kinds, by MAAS's numbers.
const (
	Commissioning Kind = iota
	Installation
	Testing
	Release
)

var kindNames = []string{"Commissioning", "Installation", "Testing", "Release"}

// String is MAAS's name of the kind.
func (k Kind) String() string { return kindNames[k] }

// maxSetsKept is the number of sets of each kind that MAAS keeps by default.
var maxSetsKept = []int{10, 3, 10, 3}

// Status is the status of a script (maascommon/enums/scriptresult.py).
type Status int

// The statuses that occur in the simulator, by MAAS's numbers.
const (
	StatusPending Status = 0
	StatusPassed  Status = 2
	StatusFailed  Status = 3
	StatusAborted Status = 5
)

var statusNames = map[Status]string{StatusPending: "Pending", StatusPassed: "Passed", StatusFailed: "Failed", StatusAborted: "Aborted"}

// String is MAAS's name of the status.
func (s Status) String() string { return statusNames[s] }

// InstallLog is MAAS's name of the only result of an installation (preseed.py,
// CURTIN_INSTALL_LOG).
const InstallLog = "/tmp/install.log"

// Set is a run of scripts on one machine.
type Set struct {
	ID      int
	Kind    Kind
	Results []*Result
}

// Result is the result of one script, or of one script on one disk.
type Result struct {
	ID             int
	Name           string
	Disk           string // name of the disk; empty for none
	Status         Status
	ExitStatus     *int // nil if unknown
	Output         string
	Created, Ended time.Time // Ended is zero until the script ends
}

// Failure is a script that fails: its name, exit status and output.
type Failure struct {
	Script     string `json:"script"`
	ExitStatus int    `json:"exit_status"`
	Output     string `json:"output"`
}

// Add adds a pending script to the set.
func (s *Set) Add(id int, name, disk string, now time.Time) {
	s.Results = append(s.Results, &Result{ID: id, Name: name, Disk: disk, Created: now})
}

// End ends the scripts that have not run yet.
func (s *Set) End(as Status, now time.Time) {
	for _, r := range s.Results {
		if r.Status != StatusPending {
			continue
		}
		r.Status, r.Ended = as, now
		if as == StatusPassed {
			r.ExitStatus = new(int)
		}
	}
}

// Fail makes the named script fail; all others pass. A script that is not in the set is
// added with the id, as if a user had uploaded it.
func (s *Set) Fail(f Failure, id int, now time.Time) {
	i := slices.IndexFunc(s.Results, func(r *Result) bool { return r.Name == f.Script })
	if i < 0 {
		s.Add(id, f.Script, "", now)
		i = len(s.Results) - 1
	}
	exit := cmp.Or(f.ExitStatus, 1)
	r := s.Results[i]
	r.Status, r.Ended, r.ExitStatus, r.Output = StatusFailed, now, &exit, f.Output
	s.End(StatusPassed, now)
}

// Status is the status of the whole set (models/scriptset.py, get_overall_status).
func (s *Set) Status() Status {
	for _, status := range []Status{StatusPending, StatusAborted, StatusFailed} {
		if slices.ContainsFunc(s.Results, func(r *Result) bool { return r.Status == status }) {
			return status
		}
	}
	return StatusPassed
}

// SortedResults are the results in MAAS's order (api/scriptresults.py,
// filter_script_results).
func (s *Set) SortedResults() []*Result {
	return slices.SortedStableFunc(slices.Values(s.Results), func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Disk, b.Disk))
	})
}

// AddSet adds a set to those of a machine. It aborts earlier sets of the same kind, and
// removes the oldest ones (models/scriptset.py, _clean_old).
func AddSet(sets []*Set, s *Set, now time.Time) []*Set {
	same := 0
	for _, old := range sets {
		if old.Kind == s.Kind {
			old.End(StatusAborted, now)
			same++
		}
	}
	if same >= maxSetsKept[s.Kind] {
		oldest := slices.IndexFunc(sets, func(old *Set) bool { return old.Kind == s.Kind })
		sets = slices.Delete(sets, oldest, oldest+1)
	}
	return append(sets, s)
}

// FindSet is the set with an id, or nil.
func FindSet(sets []*Set, id int) *Set {
	i := slices.IndexFunc(sets, func(s *Set) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return sets[i]
}
