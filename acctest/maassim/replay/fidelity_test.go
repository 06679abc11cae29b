package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// folders hold genuine exchanges. A variable names each folder, and a relative path starts
// at the repository's root.
var folders = map[string]struct {
	variable      string
	scenes        map[int]worldChange
	together      map[int]int
	leastWhole    float64 // least share of reproduced exchanges
	mostFirstHand float64 // greatest share with a first difference
	mostSure      float64 // greatest share with a first difference that rests on no inference
}{
	"FirstInferred": {variable: "MAAS_RECORDINGS", leastWhole: 0.55, mostFirstHand: 0.1, mostSure: 0.02},
	"First":         {variable: "MAAS_RECORDINGS", scenes: genuineChanges, together: genuineTogether, leastWhole: 0.99, mostFirstHand: 0.01, mostSure: 0.01},
	"Second":        {variable: "MAAS_RECORDINGS_2", leastWhole: 0.97, mostFirstHand: 0.03, mostSure: 0.01},
}

// TestFidelity replays exchanges with a genuine MAAS 3.4 in their order and compares the
// answers. With -v it groups the differences by cause.
func TestFidelity(t *testing.T) {
	for name, folder := range folders {
		t.Run(name, func(t *testing.T) {
			dir := os.Getenv(folder.variable)
			if dir == "" {
				fmt.Printf("TestFidelity/%s: SKIPPED: %s names no folder with recorded exchanges\n", name, folder.variable)
				t.Skipf("%s names no folder with recorded exchanges", folder.variable)
			}
			outcomes := replayAll(t, fromRoot(t, dir), folder.scenes, folder.together)
			var all Tally
			for _, o := range outcomes {
				all.Add(o)
			}
			fmt.Printf("TestFidelity/%s: %s\n", name, all)
			var causes strings.Builder
			PrintCauses(&causes, outcomes)
			t.Log(all.InferenceSummary() + "\n" + causes.String())
			if all.ReproducedShare() < folder.leastWhole {
				t.Errorf("%.1f %% whole is less than %.0f %%", 100*all.ReproducedShare(), 100*folder.leastWhole)
			}
			if share := float64(all.Certain) / float64(all.Total); share > folder.mostSure {
				t.Errorf("%.1f %% differ first-hand, and on no inference: more than %.0f %%", 100*share, 100*folder.mostSure)
			}
			if share := float64(all.FirstHand) / float64(all.Total); share > folder.mostFirstHand {
				t.Errorf("%.1f %% differ first-hand, more than %.0f %%", 100*share, 100*folder.mostFirstHand)
			}
		})
	}
}

// replayAll replays the stories of a folder and returns their outcomes.
func replayAll(t *testing.T, dir string, scenes map[int]worldChange, together map[int]int) (outcomes []Outcome) {
	t.Helper()
	stories, err := recording.LoadStories(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stories {
		o := replayInBubble(t, s, scenes, together)
		var one Tally
		one.Add(o)
		t.Logf("%s: %s", o.Story, one)
		for _, line := range o.Inferences {
			t.Logf("%s: %s", o.Story, line)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

// replayInBubble replays a story in virtual time.
func replayInBubble(t *testing.T, s recording.Story, scenes map[int]worldChange, together map[int]int) (o Outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		known := genuineHooks()
		known.knownChanges, known.sentTogether = scenes, together
		if o, err = playWithHooks(s, nil, known); err != nil {
			t.Fatal(err)
		}
	})
	return o
}

// fromRoot resolves a path against the folder that holds go.mod.
func fromRoot(t *testing.T, path string) string {
	t.Helper()
	if filepath.IsAbs(path) {
		return path
	}
	for root := "."; ; root = filepath.Join("..", root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, path)
		}
		if strings.Count(root, "..") > 10 {
			t.Fatal("no go.mod above this folder")
		}
	}
}
