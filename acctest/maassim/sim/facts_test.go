package sim_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// fact is one row of testdata/facts.txt: a behaviour of MAAS on which clients rely, or
// which they must handle.
type fact struct {
	name, reason string
	line         int
	model        string
	steps        []factStep
}

// factStep is one line of a fact.
type factStep struct {
	line int
	verb string // a method or a status, or has, lacks, save, wait
	rest string
}

// TestFacts compares the simulator with observations of a genuine MAAS 3.4 and with its
// source, in our own words. The head of testdata/facts.txt explains the format.
func TestFacts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/facts*.txt")
	if err != nil || len(files) < 2 {
		t.Fatalf("facts in %q: %v", files, err)
	}
	var facts []fact
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		of, err := parseFacts(string(content))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		facts = append(facts, of...)
	}
	held := make(chan bool, len(facts))
	t.Cleanup(func() {
		close(held)
		count := 0
		for range held {
			count++
		}
		fmt.Printf("TestFacts: %d of %d facts hold\n", count, len(facts))
	})
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runFact(t, f) })
			if !t.Failed() {
				held <- true
			}
		})
	}
}

// parseFacts reads the table. An error names the line.
func parseFacts(text string) ([]fact, error) {
	var facts []fact
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "fact "):
			name := strings.TrimPrefix(line, "fact ")
			if seen[name] {
				return nil, fmt.Errorf("line %d: fact %s is there twice", i+1, name)
			}
			seen[name] = true
			facts = append(facts, fact{name: name, line: i + 1})
		case len(facts) == 0:
			return nil, fmt.Errorf("line %d: stands before the first fact", i+1)
		default:
			facts[len(facts)-1].addLine(i+1, line)
		}
	}
	for _, f := range facts {
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// check requires a reason, and steps that can fail if the fact does not hold.
func (f *fact) check() error {
	for _, s := range f.steps {
		if err := s.check(); err != nil {
			return err
		}
	}
	if f.reason == "" || !slices.ContainsFunc(f.steps, factStep.isExpectation) {
		return fmt.Errorf("line %d: fact %s needs a reason, and a step that expects something", f.line, f.name)
	}
	return nil
}

func (f *fact) addLine(number int, line string) {
	trimmed := strings.TrimSpace(line)
	if line == trimmed {
		f.reason = strings.TrimSpace(f.reason + " " + line)
		return
	}
	verb, rest, _ := strings.Cut(trimmed, " ")
	if verb == "model" {
		f.model = rest
		return
	}
	f.steps = append(f.steps, factStep{line: number, verb: verb, rest: strings.TrimSpace(rest)})
}

func runFact(t *testing.T, f fact) {
	if err := f.runSteps(t); err != nil {
		t.Fatalf("facts.txt:%v\n%s", err, f.reason)
	}
}

// runSteps runs the fact's steps in a world of its own. An error begins with the line.
func (f fact) runSteps(t *testing.T) error {
	model, err := sim.ReadModel(strings.NewReader(cmp.Or(f.model, "{}")))
	if err != nil {
		return fmt.Errorf("%d: %w", f.line, err)
	}
	if f.model == "" {
		model = factsModel()
	}
	world, err := sim.New(model)
	if err != nil {
		return fmt.Errorf("%d: %w", f.line, err)
	}
	defer world.Close()
	run := &factRun{t: t, maas: world.RoundTripper(), saved: map[string]string{}, started: map[string]chan simResponse{}}
	for _, step := range f.steps {
		if err := run.step(step); err != nil {
			return fmt.Errorf("%d: %w", step.line, err)
		}
	}
	return nil
}

// TestFactsCanFail checks that false facts do not pass.
func TestFactsCanFail(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, steps, problem string }{
		"Verb":        {"A misspelled method is an error.", "  GTE zones/\n  200", `"GTE" is neither`},
		"NoneAtAll":   {"A call alone shows nothing.", "  GET zones/", "expects something"},
		"Status":      {"No answer has this status.", "  GET zones/\n  20", `"20" is neither`},
		"Unsaved":     {"An unknown name would be sent unchanged.", "  GET machines/{nobody}/\n  404", "{nobody} was not saved"},
		"UnsavedText": {"Expected texts may not have unknown names, either.", "  GET zones/\n  200 application/json ~{nobody}", "{nobody} was not saved"},
		"SavedName":   {"No text could refer to this name.", "  GET zones/\n  save Zone 0.id\n  200", `"Zone" cannot be`},
		"Has":         {"has needs a value to compare.", "  GET zones/\n  has 0.name", "PATH=JSON"},
		"Until":       {"until needs a value to compare.", "  until zones/ 0.name", "FIELD=JSON"},
		"Start":       {"start needs a method.", "  start a zones/\n  200", `the method "zones/"`},
		"End":         {"end needs a started call.", "  end a\n  200", `nothing was started as "a"`},
		"Who":         {"Only some callers exist.", "  GET as root zones/\n  200", `unknown caller "root"`},
		"Wrong":       {"A fact that does not hold fails.", "  GET zones/\n  404", "want status 404"},
		"Lost":        {"The call was answered.", "  GET zones/\n  lost", "want no answer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts, err := parseFacts("fact a\nbecause\n" + tc.steps)
			if err == nil {
				synctest.Test(t, func(t *testing.T) { err = facts[0].runSteps(t) })
			}
			if err == nil || !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("%s want an error with %q, got %v", tc.reason, tc.problem, err)
			}
		})
	}
}

// factsModel is the world of a fact without a model: two hosts with two pools each. The
// fact itself controls all waiting.
func factsModel() sim.Model {
	model := sim.DefaultModel()
	model.Hosts = model.Hosts[:2]
	model.Images, model.Latency = []string{"ubuntu/focal", "ubuntu/jammy"}, sim.Latency{}
	return model
}
