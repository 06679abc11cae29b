package report

import (
	"errors"
	"fmt"
	"strconv"
)

// Verdict is a budget compared with one measurement.
type Verdict struct {
	Budget, Where   string
	Limit, Measured float64
	NotJudgedReason string // why the figure says nothing of the program; empty: it does
}

// IsMissed reports whether the program used more than the budget.
func (v Verdict) IsMissed() bool { return v.NotJudgedReason == "" && !(v.Measured <= v.Limit) } // NaN is missed, too

// result is the verdict in words.
func (v Verdict) result() string {
	switch {
	case v.Measured <= v.Limit:
		return "met"
	case v.NotJudgedReason != "":
		return "not judged: " + v.NotJudgedReason
	default:
		return "MISSED"
	}
}

// usedShare is the share of the limit that was used.
func (v Verdict) usedShare() float64 {
	if v.Limit == 0 { // a limit of 0 allows nothing
		return v.Measured
	}
	return v.Measured / v.Limit
}

// VerdictGrid shows each budget once, with the measurement that used it most.
func VerdictGrid(verdicts []Verdict) Grid {
	g := Grid{Title: "Budgets", Head: []string{"at most", "limit", "measured", "where it is nearest", ""}}
	var names []string
	worst := map[string]Verdict{}
	for _, v := range verdicts {
		have, ok := worst[v.Budget]
		if !ok {
			names = append(names, v.Budget)
		}
		if !ok || v.usedShare() > have.usedShare() {
			worst[v.Budget] = v
		}
	}
	for _, name := range names {
		v := worst[name]
		g.Rows = append(g.Rows, []string{v.Budget, FormatNumber(v.Limit), FormatNumber(v.Measured), v.Where, v.result()})
	}
	return g
}

// MissedError returns an error for each budget that was missed.
func MissedError(verdicts []Verdict) error {
	var errs []error
	for _, v := range verdicts {
		if v.IsMissed() {
			errs = append(errs, fmt.Errorf("budget missed: %s: %s, want at most %s (%s)", v.Budget, FormatNumber(v.Measured), FormatNumber(v.Limit), v.Where))
		}
	}
	return errors.Join(errs...)
}

// FormatNumber writes a number with at most two digits after the point.
func FormatNumber(f float64) string {
	text := strconv.FormatFloat(f, 'f', 2, 64)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}

// FormatPercent writes a share, of which 1 is all, in percent.
func FormatPercent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }
