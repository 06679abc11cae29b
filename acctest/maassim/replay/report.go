// Package replay sends recorded requests to the simulator in their order, and compares its
// answers with those of the genuine MAAS.
package replay

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// Problem is one difference between a recorded answer and the simulator's.
type Problem struct {
	Object string // the recorded resource_uri of the differing object, or the request's path
	Path   string // the path in the object
	At     string // the path in the answer
	Text   string
	// Inferred means that the difference rests on an inference: on state that the
	// recording does not show.
	Inferred bool
}

// String is the difference in one line.
func (p Problem) String() string { return cmp.Or(p.At, p.Path) + ": " + p.Text }

// Comparison is the result of an exchange.
type Comparison struct {
	Exchange recording.Exchange
	Problems []Problem
	// FirstProblems are the problems whose objects did not show them before. All others
	// follow from them.
	FirstProblems []Problem
	// Inferred means that the exchange is about an object that the replay inferred.
	Inferred bool
	// LeftOut means that the request was not sent, because its body was not recorded.
	LeftOut bool
}

// IsReproduced tells whether nothing differs.
func (c Comparison) IsReproduced() bool { return len(c.Problems) == 0 }

// Outcome is the result of a story.
type Outcome struct {
	Story       string
	Comparisons []Comparison
	// Inferences are the changes that the replay made between the exchanges, with reasons.
	Inferences []string
}

// HasCertainDifference tells whether a first difference rests on no inference.
func (c Comparison) HasCertainDifference() bool {
	return slices.ContainsFunc(c.FirstProblems, func(p Problem) bool { return !p.Inferred })
}

// Tally counts exchanges by their results. Reproduced includes ReproducedInferred.
// FirstHand includes Certain, whose first differences rest on no inference. Total does not
// include LeftOut.
type Tally struct{ Total, Reproduced, ReproducedInferred, FirstHand, Certain, Following, LeftOut int }

// Add adds the exchanges of a story.
func (t *Tally) Add(o Outcome) {
	for _, c := range o.Comparisons {
		if c.LeftOut {
			t.LeftOut++
			continue
		}
		t.Total++
		if c.HasCertainDifference() {
			t.Certain++
		}
		switch {
		case c.IsReproduced():
			t.Reproduced++
			if c.Inferred {
				t.ReproducedInferred++
			}
		case len(c.FirstProblems) > 0:
			t.FirstHand++
		default:
			t.Following++
		}
	}
}

// ReproducedShare is the share of the exchanges without any difference, 0 to 1.
func (t Tally) ReproducedShare() float64 { return float64(t.Reproduced) / float64(max(t.Total, 1)) }

// String is one line of figures.
func (t Tally) String() string {
	percent := func(n int) float64 { return 100 * float64(n) / float64(max(t.Total, 1)) }
	text := fmt.Sprintf("%d of %d exchanges reproduced (%.1f %%), %d differ first-hand (%.1f %%), %d follow from those (%.1f %%)",
		t.Reproduced, t.Total, percent(t.Reproduced), t.FirstHand, percent(t.FirstHand), t.Following, percent(t.Following))
	if t.LeftOut > 0 {
		text += fmt.Sprintf(", %d more were recorded without their bodies", t.LeftOut)
	}
	return text
}

// InferenceSummary tells in one line how many of the results rest on inferences.
func (t Tally) InferenceSummary() string {
	return fmt.Sprintf("%d of the %d reproduced and %d of the %d first-hand differences rest on inferences", t.ReproducedInferred, t.Reproduced, t.FirstHand-t.Certain, t.FirstHand)
}

// newOutcome separates first differences from those that follow.
func newOutcome(story string, exchanges []recording.Exchange, problems [][]Problem) Outcome {
	o := Outcome{Story: story}
	seen := map[[2]string]bool{}
	for i, e := range exchanges {
		c := Comparison{Exchange: e, Problems: problems[i], LeftOut: e.Request.LeftOut}
		for _, p := range problems[i] {
			key := [2]string{p.Object, p.Path}
			if !seen[key] {
				c.FirstProblems = append(c.FirstProblems, p)
			}
		}
		for _, p := range problems[i] {
			seen[[2]string{p.Object, p.Path}] = true
		}
		o.Comparisons = append(o.Comparisons, c)
	}
	return o
}

// Cause is a kind of first difference: the same key of the same kind of object.
type Cause struct {
	Name    string
	Count   int // exchanges that show it as a first difference
	Example string
}

// idPattern finds the parts of a path that are ids.
var idPattern = regexp.MustCompile(`/(\d+|[a-z0-9]{6})(/|$)`)

// Causes groups the first differences of stories, the most frequent first. It returns
// either those that rest on an inference, or the others.
func Causes(outcomes []Outcome, inferred bool) []Cause {
	by := map[string]*Cause{}
	for _, o := range outcomes {
		for _, c := range o.Comparisons {
			counted := map[string]bool{}
			for _, p := range c.FirstProblems {
				if p.Inferred != inferred {
					continue
				}
				object := strings.TrimPrefix(p.Object, recording.APIRoot)
				for range 2 {
					object = idPattern.ReplaceAllString(object, "/*$2")
				}
				name := object + " " + p.Path
				if by[name] == nil {
					by[name] = &Cause{Name: name, Example: fmt.Sprintf("%s/%s: %s", o.Story, c.Exchange, p)}
				}
				if !counted[name] {
					by[name].Count++
				}
				counted[name] = true
			}
		}
	}
	var all []Cause
	for _, c := range by {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// PrintCauses writes each cause of a first difference with an example.
func PrintCauses(w io.Writer, outcomes []Outcome) {
	for _, group := range []struct {
		title    string
		inferred bool
	}{
		{"First differences, by cause:", false},
		{"First differences that rest on state that the recording does not show, by cause:", true},
	} {
		causes := Causes(outcomes, group.inferred)
		if len(causes) > 0 {
			fmt.Fprintf(w, "\n%s\n", group.title)
		}
		for _, c := range causes {
			fmt.Fprintf(w, "%4d  %s\n      %s\n", c.Count, c.Name, c.Example)
		}
	}
}
