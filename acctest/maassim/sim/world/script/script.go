// Package script has the scripts that MAAS runs on a machine, and what came of them.
package script

import (
	"cmp"
	"slices"
	"time"
)

// Kind is what a set of scripts is run for (metadataserver/enum.py, RESULT_TYPE).
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

// maxSetsKept is how many results of one script MAAS keeps, unless its settings say otherwise.
var maxSetsKept = []int{10, 3, 10, 3}

// Status is how far a script is (maascommon/enums/scriptresult.py).
type Status int

// The statuses that occur here, by MAAS's numbers.
const (
	StatusPending Status = 0
	StatusPassed  Status = 2
	StatusFailed  Status = 3
	StatusAborted Status = 5
)

var statusNames = map[Status]string{StatusPending: "Pending", StatusPassed: "Passed", StatusFailed: "Failed", StatusAborted: "Aborted"}

// String is MAAS's name of the status.
func (s Status) String() string { return statusNames[s] }

// InstallLog is how MAAS calls the one result of an installation (preseed.py,
// CURTIN_INSTALL_LOG).
const InstallLog = "/tmp/install.log"

// Set is a run of scripts on one machine.
type Set struct {
	ID      int
	Kind    Kind
	Results []*Result
}

// Result is what came of one script, on one disk if it tests disks.
type Result struct {
	ID             int
	Name           string
	Disk           string // name of the disk, empty for none
	Status         Status
	ExitStatus     *int // nil: it told none
	Output         string
	Created, Ended time.Time // Ended is zero before its end
}

// Failure is a script that fails: which one, and what it says.
type Failure struct {
	Script     string `json:"script"`
	ExitStatus int    `json:"exit_status"`
	Output     string `json:"output"`
}

// Add gives the set a script that is to run.
func (s *Set) Add(id int, name, disk string, now time.Time) {
	s.Results = append(s.Results, &Result{ID: id, Name: name, Disk: disk, Created: now})
}

// End gives the scripts that have not run their end.
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

// Fail ends the script of a failure badly; the others pass. One that the set does not have
// was uploaded by somebody. id is for that one.
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

// Status is that of the whole set (models/scriptset.py, get_overall_status).
func (s *Set) Status() Status {
	for _, status := range []Status{StatusPending, StatusAborted, StatusFailed} {
		if slices.ContainsFunc(s.Results, func(r *Result) bool { return r.Status == status }) {
			return status
		}
	}
	return StatusPassed
}

// SortedResults are the results as MAAS lists them (api/scriptresults.py, filter_script_results).
func (s *Set) SortedResults() []*Result {
	return slices.SortedStableFunc(slices.Values(s.Results), func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Disk, b.Disk))
	})
}

// AddSet adds a set to those of a machine. What ran before for the same end is aborted, and
// the oldest sets go (models/scriptset.py, _clean_old).
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

// FindSet returns the set of an id, nil for none.
func FindSet(sets []*Set, id int) *Set {
	i := slices.IndexFunc(sets, func(s *Set) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return sets[i]
}
