package assembly_test

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// checkOutcome looks at what is left when all is quiet.
func (s *schedule) checkOutcome() {
	machines := s.sim.Machines()
	for _, o := range s.owners {
		for _, name := range o.names {
			s.checkWish(o, name, machines)
			s.checkRow(o, name)
		}
		pending, err := o.ledger.rows.PendingRows(s.t.Context())
		if err != nil || len(pending) > 0 {
			s.failSchedule("the ledger of %s still has pending rows: %+v, %v", o.name, pending, err)
		}
	}
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	for _, b := range s.witness.instances {
		if !b.gone {
			s.checkInstance(b)
		}
	}
}

// markLine is the line of a description by which a VM tells whose it is.
var markLine = regexp.MustCompile(`(?m)^maaslxd-[0-9a-f]{12} (\S+)`)

func markOf(m sim.Machine) engine.Key {
	if found := markLine.FindStringSubmatch(m.Description); found != nil {
		return engine.Key(found[1])
	}
	return ""
}

// checkWish wants one VM where one is wanted, or a good reason, and none else.
func (s *schedule) checkWish(o *owner, name string, machines []sim.Machine) {
	want, m := o.wishAndKnown(name)
	marked := slices.DeleteFunc(slices.Clone(machines), func(m sim.Machine) bool { return markOf(m) != o.key(name) })
	unmet := o.lastErrors[name]
	switch {
	case len(marked) > 1:
		s.witness.count(func(f *figures) { f.doubles++ })
		s.failSchedule("%s has %d VMs: %+v", o.key(name), len(marked), marked)
	case want == nil && (unmet != nil || len(marked) > 0):
		s.failSchedule("%s is not wanted, and there is %+v, %v", o.key(name), marked, unmet)
	case want == nil:
	case unmet == nil && (len(marked) != 1 || marked[0].SystemID != m.systemID || !isMarkedFinished(marked[0])):
		s.failSchedule("%s was said to be there as %s, and there is %+v", o.key(name), m.systemID, marked)
	case unmet != nil && !s.isErrorJustified(o, name, unmet, machines):
		s.failSchedule("%s is not there for no good reason: %v", o.key(name), unmet)
	}
}

// isErrorJustified reports whether what MAAS and the LXDs hold justifies an error.
func (s *schedule) isErrorJustified(o *owner, name string, err error, machines []sim.Machine) bool {
	named := slices.ContainsFunc(machines, func(m sim.Machine) bool { return m.Hostname == name && markOf(m) != o.key(name) })
	inLXD := slices.ContainsFunc(s.sim.Instances(), func(i sim.Instance) bool { return i.Name == name })
	var failure *engine.Error
	isFailure := errors.As(err, &failure)
	switch {
	case errors.Is(err, engine.ErrConflict):
		return named
	case isFailure && failure.Type == engine.InsufficientResources:
		return true
	case isFailure && failure.Type == engine.VMCreationFailed:
		return inLXD
	}
	return false
}

// checkRow wants a row for what exists, and for nothing else.
func (s *schedule) checkRow(o *owner, name string) {
	want, m := o.wishAndKnown(name)
	row, err := o.ledger.rows.Row(s.t.Context(), o.key(name))
	there := want != nil && o.lastErrors[name] == nil
	switch {
	case there && (err != nil || row.State != engine.RowBound || row.SystemID != m.systemID):
		s.failSchedule("%s exists as %s, and its row is %+v, %v", o.key(name), m.systemID, row, err)
	case !there && !errors.Is(err, engine.ErrNotFound):
		s.failSchedule("%s does not exist, and it has the row %+v, %v", o.key(name), row, err)
	}
}

// checkInstance wants every instance to be someone's, or to be there for a
// reason that no one but MAAS or an operator has to answer for.
func (s *schedule) checkInstance(b *observedInstance) {
	if o := b.compose; o != nil && b.MachineID != "" {
		_, m := o.life.owner.wishAndKnown(o.name)
		if m.systemID == b.MachineID {
			return
		}
	}
	cause := s.witness.leftoverCause(b)
	switch {
	case cause == "":
		s.witness.figures.leaks++
		s.failSchedule("%s is left on %s, and nothing explains it: %+v, removal %+v", b.Name, b.Host, b, b.removal)
		if b.compose != nil && s.witness.countOthersOfKey(b) > 0 {
			s.witness.figures.doubles++
		}
	case b.compose != nil:
		s.witness.figures.unseen++
		s.witness.figures.causes[cause]++
		s.note("judge", "%s is left on %s: %s", b.Name, b.Host, cause)
	}
}

// countOthersOfKey counts what else is there that was composed for the same key.
func (w *observer) countOthersOfKey(b *observedInstance) (n int) {
	for _, other := range w.instances {
		if other != b && !other.gone && other.compose != nil && other.key() == b.key() {
			n++
		}
	}
	return n
}

// The reasons for which an instance may be left.
const (
	causeOperator      = "an operator made it, or meddled with it"
	causeTwoOwners     = "MAAS refused the loser of two composes of one name by two owners once LXD had made it"
	causeLedgerLost    = "MAAS refused the second of two composes of one name once LXD had made it; the ledger that knew of the first was lost"
	causeNameTaken     = "MAAS refused the name once LXD had made the instance: a machine of an operator's, or one adopted, took it meanwhile"
	causeAdopted       = "a sync of the host adopted it inside its compose, and the program or its ledger did not live until it had heard the answer and marked the VM, or another owner asked for the same name there"
	causeComposeFailed = "the compose failed once LXD had made it, for MAAS could not reach LXD any more"
	causeKeptByDelete  = "MAAS could not reach LXD between its answer \"off\" and the delete, which it reported as done"
)

// leftoverCause says why an unwanted instance is left that neither MAAS's API nor the ledger
// can have shown to its owner. It is empty if there is no such cause.
func (w *observer) leftoverCause(b *observedInstance) string {
	switch {
	case b.compose == nil:
		return causeOperator
	case markOf(b.machine) == b.key() && b.MachineID != "":
		return "" // MAAS shows it, and it tells whose it is
	case !b.lost.IsZero() && b.removal != nil && w.wasUnreachable(b.Host, b.removal.span):
		return causeKeptByDelete
	case !b.lost.IsZero() && w.wasChangedByOperator(b, span{from: b.lost, to: b.lost}):
		return causeOperator
	case b.lost.IsZero() && w.wasChangedByOperator(b, span{from: b.compose.to, to: b.compose.to}):
		return causeOperator
	case b.compose.status != http.StatusOK: // MAAS may have shown it for a moment since, by a sync that failed
		return w.composeLeakCause(b)
	}
	return ""
}

// composeLeakCause says why a compose failed although LXD had made the instance.
func (w *observer) composeLeakCause(b *observedInstance) string {
	a := b.compose
	switch {
	case a.status == http.StatusServiceUnavailable && w.wasUnreachable(a.host, a.span):
		return causeComposeFailed
	case a.status != http.StatusBadRequest || !strings.Contains(a.body, "already exists"):
		return ""
	}
	reason := causeNameTaken
	if !b.visible.IsZero() && !b.visible.After(a.to) && b.machine.Hostname == a.name {
		reason = ""
		if !w.mustHaveFoundNewborn(a) {
			reason = causeAdopted
		}
	}
	for _, other := range w.composes {
		switch {
		case other == a || other.name != a.name || other.instance == nil || !other.overlaps(a.span) && other.instance.visible.IsZero():
		case other.life.owner != a.life.owner:
			return causeTwoOwners
		case other.life.edition != a.life.edition:
			return causeLedgerLost
		case other.overlaps(a.span):
			return "" // the same owner asked twice, and knew it
		}
	}
	return reason
}

// mustHaveFoundNewborn reports whether a program must have found the VM that MAAS had adopted.
// It must if it heard that its compose was refused, looked, and continued with its ledger. It
// proves nothing where another owner asked for the same name on the same host.
func (w *observer) mustHaveFoundNewborn(a *composeCall) bool {
	if a.life.edition != a.life.owner.ledger.edition || w.isNameContested(a) {
		return false
	}
	for _, l := range w.looks {
		died := a.life.died.Load()
		if w.wasUnreachable(ledgerServiceName, span{from: a.to, to: l.at.Add(time.Second)}) {
			continue
		}
		if l.life == a.life && l.name == a.name && a.answerReceived && l.at.After(a.to) && l.at.Before(a.to.Add(10*time.Second)) &&
			(died == 0 || time.Unix(0, died).Sub(l.at) > time.Second) {
			return true
		}
	}
	return false
}

// isNameContested reports whether another owner was after the same name when the
// compose ended, so that it might be his.
func (w *observer) isNameContested(a *composeCall) bool {
	for key, at := range w.reservedAt {
		if key != a.key && strings.HasSuffix(string(key), "/"+a.name) && at.Before(a.to.Add(time.Second)) && at.After(a.to.Add(-visibilityDelay)) {
			return true
		}
	}
	return false
}
