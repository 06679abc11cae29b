package main

import (
	"fmt"
	"io"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/replay"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// compareRecordings replays the recordings of a folder and writes the results: a line for
// each story, a line for all, and each cause of a first difference.
func compareRecordings(dir string, model *sim.Model, w io.Writer) error {
	stories, err := recording.LoadStories(dir)
	if err != nil {
		return err
	}
	var outcomes []replay.Outcome
	var all replay.Tally
	for _, story := range stories {
		o, err := replayStory(story, model)
		if err != nil {
			return err
		}
		var one replay.Tally
		one.Add(o)
		all.Add(o)
		fmt.Fprintf(w, "%s: %s\n", story.Name, one)
		for _, line := range o.Inferences {
			fmt.Fprintf(w, "      inferred: %s\n", line)
		}
		outcomes = append(outcomes, o)
	}
	if len(stories) > 1 {
		fmt.Fprintf(w, "all: %s\n", all)
	}
	fmt.Fprintln(w, all.InferenceSummary())
	replay.PrintCauses(w, outcomes)
	return nil
}

// replayStory replays a story. A recording may hold anything, so a panic of the replay
// becomes an error, too.
func replayStory(story recording.Story, model *sim.Model) (o replay.Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot replay %s: %v", story.Name, r)
		}
	}()
	return replay.PlayStory(story, model)
}
