package sim_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// fact is one row of testdata/facts.txt: something that MAAS does and that a
// client relies on or has to live with.
type fact struct {
	name, reason string
	line         int
	model        string
	steps        []factStep
}

// factStep is one line of a fact.
type factStep struct {
	line int
	verb string // a method, a status, or has, lacks, save, wait
	rest string
}

// TestFacts holds the simulator against what was seen on a genuine MAAS 3.4
// and written down in our own words. The head of testdata/facts.txt explains
// its lines.
func TestFacts(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/facts.txt")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := parseFacts(string(content))
	if err != nil {
		t.Fatal(err)
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

// parseFacts reads the table; an error names the line.
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
			facts[len(facts)-1].add(i+1, line)
		}
	}
	for _, f := range facts {
		if f.reason == "" || len(f.steps) == 0 {
			return nil, fmt.Errorf("line %d: fact %s needs a reason and steps", f.line, f.name)
		}
	}
	return facts, nil
}

func (f *fact) add(number int, line string) {
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
	model, err := sim.ReadModel(strings.NewReader(cmp.Or(f.model, "{}")))
	if err != nil {
		t.Fatal(err)
	}
	if f.model == "" {
		model = factsModel()
	}
	world, err := sim.New(model)
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	run := &factRun{t: t, maas: world.RoundTripper(), saved: map[string]string{}, started: map[string]chan served{}}
	for _, step := range f.steps {
		if err := run.step(step); err != nil {
			t.Fatalf("facts.txt:%d: %v\n%s", step.line, err, f.reason)
		}
	}
}

// factsModel is the world of a fact that brings none: two hosts, two pools
// each, all waiting steered by the fact.
func factsModel() sim.Model {
	model := sim.DefaultModel()
	model.Hosts = model.Hosts[:2]
	model.Images = []string{"ubuntu/focal", "ubuntu/jammy"}
	return model
}
