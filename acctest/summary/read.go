package main

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// event is a line of go test -json (cmd/test2json).
type event struct {
	Action  string
	Package string
	Test    string // empty for an event of the whole package
	Output  string
}

// kinds are recognised by the beginning of a test's name. All other tests are
// unit tests.
var kinds = []struct {
	name     string
	prefixes []string
}{
	{"acceptance", []string{"TestAcc"}},
	{"fidelity", []string{"TestFidelity", "TestFacts"}},
	{"fail-everywhere", []string{"TestFailEverywhere"}},
	{"chaos", []string{"TestChaos"}},
	{"programs", []string{"TestScript"}},
	{"real-hosts", []string{"TestReal"}},
	{"kubernetes", []string{"TestKube"}},
	{"clusters", []string{"TestCluster"}},
	{"nodes", []string{"TestNodes"}},
}

const unitKind = "unit"

// kindOf is the kind of a test or subtest.
func kindOf(test string) string {
	for _, k := range kinds {
		begins := func(prefix string) bool { return strings.HasPrefix(test, prefix) }
		if slices.ContainsFunc(k.prefixes, begins) {
			return k.name
		}
	}
	return unitKind
}

// kindCount counts tests by how they ended, subtests included.
type kindCount struct{ passed, failed, skipped int }

// skip is a test that did not run.
type skip struct{ test, reason string }

// report is what a whole run did.
type report struct {
	counts         map[string]*kindCount // by kind
	skips          []skip
	brokenPackages []string // packages that failed outside of any test: build, panic, timeout
	notes          []string // figures that tests printed

	stories map[string]map[string]int // by kind and top-level test: how many of it and its cases passed on a MAAS that they did not make
	leftOut map[string]map[string]int // how often a step was left out, by kind and by the test's message
}

// figureLine matches output that belongs into the summary.
var figureLine = regexp.MustCompile(`\d+ of \d+ (exchanges reproduced|facts hold).*|(VM|Machine|Host): survived \d+ broken calls|\d+ schedules, .*|unseen by MAAS, \d+ times: .*|real LXDs: .*|(\w+: installed in|\w+: this kernel has none|\w+: LXD has made).*`)

func newReport() *report {
	return &report{counts: map[string]*kindCount{}, stories: map[string]map[string]int{}, leftOut: map[string]map[string]int{}}
}

// readEvents counts the events of a column. If a stream ends in the middle of a
// test, its package counts as failed.
func (r *report) readEvents(in io.Reader, column string) error {
	output := map[string]string{} // by package and test
	var ended []testEnd
	failing := map[string]bool{}   // packages with a failed test
	unfinished := map[string]int{} // how many tests have begun and not ended, by package
	for decoder := json.NewDecoder(in); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			r.addAll(ended, column)
			r.addUnfinished(unfinished, failing)
			return nil
		} else if err != nil {
			return err
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "output":
			output[key] += e.Output
			r.notes = append(r.notes, figureLine.FindAllString(e.Output, -1)...)
		case e.Test == "" && e.Action == "fail":
			r.packageFailed(e.Package, failing)
			delete(unfinished, e.Package)
		case e.Test == "":
		case e.Action == "run":
			unfinished[e.Package]++
		case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
			unfinished[e.Package]--
			failing[e.Package] = failing[e.Package] || e.Action == "fail"
			ended = append(ended, testEnd{e, output[key]})
			delete(output, key)
		}
	}
}

// testEnd is the end of a test, and its output.
type testEnd struct {
	event
	output string
}

// addAll counts tests that ended. A passed test whose cases were all skipped
// counts as skipped.
func (r *report) addAll(ended []testEnd, column string) {
	cases, ran := map[string]int{}, map[string]int{} // by package and test
	for _, e := range ended {
		for parent := range parentTests(e.event) {
			cases[parent]++
			if e.Action != "skip" && !hasCases(e, ended) {
				ran[parent]++
			}
		}
	}
	for _, e := range ended {
		if key := e.Package + " " + e.Test; e.Action == "pass" && cases[key] > 0 && ran[key] == 0 {
			e.Action, e.output = "skip", "each of its cases is skipped"
		}
		r.addEnding(e, column)
	}
}

// parentTests are the tests to which a case may belong, by package and name.
// The name of a case may contain a slash.
func parentTests(e event) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n, c := range e.Test {
			if c == '/' && !yield(e.Package+" "+e.Test[:n]) {
				return
			}
		}
	}
}

// hasCases reports whether a test has cases.
func hasCases(e testEnd, ended []testEnd) bool {
	return slices.ContainsFunc(ended, func(other testEnd) bool {
		return other.Package == e.Package && strings.HasPrefix(other.Test, e.Test+"/")
	})
}

// storyPrefix begins the line that a test prints when it runs on a MAAS that it
// did not make.
const storyPrefix = "story on the MAAS at "

// leftOutLine matches the line for a step that a test left out.
var leftOutLine = regexp.MustCompile(`step left out: (.*)`)

// addEnding counts a test that ended.
func (r *report) addEnding(e testEnd, column string) {
	name := inColumn(kindOf(e.Test), column)
	c := r.countOf(name)
	for _, said := range leftOutLine.FindAllStringSubmatch(e.output, -1) {
		if r.leftOut[name] == nil {
			r.leftOut[name] = map[string]int{}
		}
		r.leftOut[name][said[1]]++
	}
	switch e.Action {
	case "pass":
		c.passed++
		if strings.Contains(e.output, storyPrefix) {
			r.addStory(name, e)
		}
	case "fail":
		c.failed++
	case "skip":
		c.skipped++
		test := inColumn(e.Package[strings.LastIndex(e.Package, "/")+1:]+" "+e.Test, column)
		r.skips = append(r.skips, skip{test, reasonIn(e.output)})
	}
}

// addStory counts a story by its top-level test, so ten cases of one test are
// one story.
func (r *report) addStory(name string, e testEnd) {
	if r.stories[name] == nil {
		r.stories[name] = map[string]int{}
	}
	test, _, _ := strings.Cut(e.Test, "/")
	r.stories[name][e.Package+" "+test]++
}

// inColumn adds the name of the column, if there is one.
func inColumn(name, column string) string {
	if column == "" {
		return name
	}
	return name + " (" + column + ")"
}

// countOf is the count of a kind.
func (r *report) countOf(name string) *kindCount {
	if r.counts[name] == nil {
		r.counts[name] = &kindCount{}
	}
	return r.counts[name]
}

// packageFailed records a package that failed although none of its tests did.
func (r *report) packageFailed(name string, failing map[string]bool) {
	if !failing[name] {
		r.brokenPackages = append(r.brokenPackages, name)
	}
}

// addUnfinished records the packages with a test that never ended.
func (r *report) addUnfinished(unfinished map[string]int, failing map[string]bool) {
	for name, tests := range unfinished {
		if tests > 0 {
			r.packageFailed(name, failing)
		}
	}
}

// positionPrefix is what go test prints before a message.
var positionPrefix = regexp.MustCompile(`^\S+\.go:\d+: `)

// reasonIn is the message of a skipped test.
func reasonIn(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		// A test may have printed before what it then gives as its reason.
		line = positionPrefix.ReplaceAllString(line, "")
		if strings.HasPrefix(line, storyPrefix) {
			continue
		}
		said = append(said, line)
		if n := len(said); n > 1 && strings.HasSuffix(said[n-2], said[n-1]) {
			said = said[:n-1]
		}
	}
	if len(said) == 0 {
		return "it gave no reason"
	}
	return strings.Join(said, " ")
}
