package acctest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// undoStack has what a run did to a MAAS that is not its own, and must undo.
type undoStack struct {
	mu    sync.Mutex
	steps []undoStep
}

// undoStep undoes one change.
type undoStep struct {
	what string
	act  func(context.Context) error
}

// undoStepTimeout is how long one step may take.
const undoStepTimeout = 20 * time.Minute

// push puts a step on the stack.
func (u *undoStack) push(what string, act func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.steps = append(u.steps, undoStep{what, act})
}

// run undoes everything, the last change first, and each step once. After a
// failed step it runs the others.
func (u *undoStack) run() (err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.steps) > 0 {
		step := u.steps[len(u.steps)-1]
		u.steps = u.steps[:len(u.steps)-1]
		ctx, cancel := context.WithTimeout(context.Background(), undoStepTimeout)
		if stepErr := step.act(ctx); stepErr != nil {
			err = errors.Join(err, fmt.Errorf("cannot %s: %w", step.what, stepErr))
		}
		cancel()
	}
	return err
}

// storyStop holds the reason why no more stories begin.
type storyStop struct {
	once  sync.Once
	begun chan struct{} // closed when no more stories may begin
	why   string
}

// stopStories keeps further stories from beginning.
func (e *storyStop) stopStories(why string) {
	e.once.Do(func() { e.why = why; close(e.begun) })
}

// reason is why no more stories begin. It is empty while they may.
func (e *storyStop) reason() string {
	select {
	case <-e.begun:
		return "no further story begins: " + e.why
	default:
		return ""
	}
}

// endingSignals end a run, which then cleans up. One comes when the terminal is
// closed.
var endingSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// storiesEndTimeout is how long running stories may go on after the run was
// told to end.
const storiesEndTimeout = time.Hour

// watchForEnd stops further stories when the run is interrupted, or its
// deadline is over. Running stories go on, and clean up. At a second signal, or
// after [storiesEndTimeout], it undoes what the run has done and ends the run.
func (s *site) watchForEnd(signals <-chan os.Signal, deadline <-chan time.Time, exit func(int)) {
	why := "the run is interrupted"
	select {
	case <-signals:
	case <-deadline:
		why = fmt.Sprintf("the %s of %s are over", s.Deadline, realmaas.DeadlineVariable)
	}
	s.storyStop.stopStories(why)
	fmt.Println(s.storyStop.reason() + "; running stories end and clean up. A second Ctrl-C ends them at once.")
	select {
	case <-signals:
	case <-time.After(storiesEndTimeout):
	}
	fmt.Println("the run ends in the middle of stories; it undoes its changes")
	exit(s.undoAndCompare(1))
}

// closeSite undoes what the run has done, and checks that the MAAS is as
// before.
func closeSite(code int) int {
	if theSite == nil {
		return code
	}
	return theSite.undoAndCompare(code)
}

// undoAndCompare returns the exit status.
func (s *site) undoAndCompare(code int) int {
	var err error
	if reason := s.storyStop.reason(); reason != "" {
		err = errors.New(reason)
	}
	if err = errors.Join(err, s.undo.run()); err == nil {
		return code
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Println("FAIL: " + strings.TrimSuffix(line, "\n"))
	}
	return max(code, 1)
}

// releaseMachines gives machines back, all at once.
func (s *site) releaseMachines(ctx context.Context, lent []realmaas.Machine) error {
	errs := make([]error, len(lent))
	var back sync.WaitGroup
	for n, m := range lent {
		back.Go(func() { errs[n] = s.client.GiveBack(ctx, m, min(s.Interval, 2*time.Second)) })
	}
	back.Wait()
	return errors.Join(errs...)
}

// inventory lists what MAAS and the LXDs have.
func (s *site) inventory(ctx context.Context) ([]string, error) {
	lines, err := s.client.Inventory(ctx)
	for _, l := range s.LXDs {
		found, lxdErr := l.Inventory(ctx)
		lines, err = append(lines, found...), errors.Join(err, lxdErr)
	}
	return lines, err
}

// compareInventory reports what differs from before. It only prints what MAAS
// or the provider left in an LXD, other than instances: MAAS makes projects,
// and leaves volumes.
func (s *site) compareInventory(ctx context.Context) (err error) {
	after, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	for _, line := range difference(s.inventoryBefore, after, s.mayStayBehind) {
		if what, isNew := strings.CutPrefix(line, "new: LXD at "); isNew && !strings.Contains(what, ": instances/") {
			fmt.Println("left in the LXD at " + what)
			continue
		}
		err = errors.Join(err, errors.New(line))
	}
	return err
}

// mayStayBehind reports whether a new object stays by design. Such are tags of
// MAAS and of the product. So are tags of a VM host for which MAAS had no tag
// before.
func (s *site) mayStayBehind(line string) bool {
	_, tag, found := strings.Cut(line, " has the tag ")
	if !found {
		tag, found = strings.CutPrefix(line, "tags/")
	}
	return found && (slices.Contains([]string{"virtual", "pod-console-logging", s.existingNames["rack1"]}, tag) || strings.HasPrefix(tag, "maaslxd-"))
}

// difference lists what only one of two lists has.
func difference(before, after []string, staysBehind func(string) bool) (lines []string) {
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, "gone: "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) && !staysBehind(line) {
			lines = append(lines, "new: "+line)
		}
	}
	return lines
}

// sweep removes what begins with a prefix from MAAS and the LXDs. It leaves
// lent machines.
func (s *site) sweep(ctx context.Context, prefix string) ([]string, error) {
	removed, err := s.client.Sweep(ctx, prefix, s.lentIDs...)
	for _, l := range s.LXDs {
		swept, lxdErr := l.Sweep(ctx, prefix)
		removed, err = append(removed, swept...), errors.Join(err, lxdErr)
	}
	return removed, err
}
