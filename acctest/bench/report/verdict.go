package report

import (
	"errors"
	"fmt"
	"strconv"
)

// Verdict is a budget, held against one measurement.
type Verdict struct {
	Budget, Where string
	Limit, Have   float64
	Unjudged      string // why it says nothing of the program; empty: it does
}

// Missed tells that the program needs more than it may.
func (v Verdict) Missed() bool { return v.Unjudged == "" && !(v.Have <= v.Limit) } // NaN is missed, too

// word is how the verdict reads.
func (v Verdict) word() string {
	switch {
	case v.Have <= v.Limit:
		return "met"
	case v.Unjudged != "":
		return "not judged: " + v.Unjudged
	default:
		return "MISSED"
	}
}

// share of the limit that was used.
func (v Verdict) share() float64 {
	if v.Limit == 0 { // only nothing is within it
		return v.Have
	}
	return v.Have / v.Limit
}

// Verdicts shows each budget once, where it was used up most.
func Verdicts(verdicts []Verdict) Grid {
	g := Grid{Title: "Budgets", Head: []string{"at most", "limit", "measured", "where it is nearest", ""}}
	var names []string
	worst := map[string]Verdict{}
	for _, v := range verdicts {
		have, ok := worst[v.Budget]
		if !ok {
			names = append(names, v.Budget)
		}
		if !ok || v.share() > have.share() {
			worst[v.Budget] = v
		}
	}
	for _, name := range names {
		v := worst[name]
		g.Rows = append(g.Rows, []string{v.Budget, Number(v.Limit), Number(v.Have), v.Where, v.word()})
	}
	return g
}

// Missed is an error for each budget that was missed.
func Missed(verdicts []Verdict) error {
	var errs []error
	for _, v := range verdicts {
		if v.Missed() {
			errs = append(errs, fmt.Errorf("budget missed: %s: %s, want at most %s (%s)", v.Budget, Number(v.Have), Number(v.Limit), v.Where))
		}
	}
	return errors.Join(errs...)
}

// Number has at most two digits after the point.
func Number(f float64) string {
	text := strconv.FormatFloat(f, 'f', 2, 64)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}

// Percent writes a share, of which 1 is all.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }
