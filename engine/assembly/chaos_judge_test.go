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

// judge looks at what is left when all is quiet.
func (s *schedule) judge() {
	machines := s.sim.Machines()
	for _, o := range s.owners {
		for _, name := range o.names {
			s.judgeWish(o, name, machines)
			s.judgeRow(o, name)
		}
		pending, err := o.book.rows.Pending(s.t.Context())
		if err != nil || len(pending) > 0 {
			s.wrong("the ledger of %s still has pending rows: %+v, %v", o.name, pending, err)
		}
	}
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	for _, b := range s.witness.order {
		if !b.gone {
			s.judgeInstance(b)
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

// judgeWish wants one VM where one is wanted, or a good reason, and none else.
func (s *schedule) judgeWish(o *owner, name string, machines []sim.Machine) {
	want, m := o.get(name)
	marked := slices.DeleteFunc(slices.Clone(machines), func(m sim.Machine) bool { return markOf(m) != o.key(name) })
	unmet := o.unmet[name]
	switch {
	case len(marked) > 1:
		s.witness.count(func(f *figures) { f.doubles++ })
		s.wrong("%s has %d VMs: %+v", o.key(name), len(marked), marked)
	case want == nil && (unmet != nil || len(marked) > 0):
		s.wrong("%s is not wanted, and there is %+v, %v", o.key(name), marked, unmet)
	case want == nil:
	case unmet == nil && (len(marked) != 1 || marked[0].SystemID != m.systemID || !finished(marked[0])):
		s.wrong("%s was said to be there as %s, and there is %+v", o.key(name), m.systemID, marked)
	case unmet != nil && !s.explained(o, name, unmet, machines):
		s.wrong("%s is not there for no good reason: %v", o.key(name), unmet)
	}
}

// explained reports whether what MAAS and the LXDs hold justifies an error.
func (s *schedule) explained(o *owner, name string, err error, machines []sim.Machine) bool {
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

// judgeRow wants a row for what exists, and for nothing else.
func (s *schedule) judgeRow(o *owner, name string) {
	want, m := o.get(name)
	row, err := o.book.rows.Row(s.t.Context(), o.key(name))
	there := want != nil && o.unmet[name] == nil
	switch {
	case there && (err != nil || row.State != engine.RowBound || row.SystemID != m.systemID):
		s.wrong("%s exists as %s, and its row is %+v, %v", o.key(name), m.systemID, row, err)
	case !there && !errors.Is(err, engine.ErrNotFound):
		s.wrong("%s does not exist, and it has the row %+v, %v", o.key(name), row, err)
	}
}

// judgeInstance wants every instance to be someone's, or to be there for a
// reason that no one but MAAS or an operator has to answer for.
func (s *schedule) judgeInstance(b *birth) {
	if o := b.asked; o != nil && b.MachineID != "" {
		_, m := o.life.owner.get(o.name)
		if m.systemID == b.MachineID {
			return
		}
	}
	cause := s.witness.cause(b)
	switch {
	case cause == "":
		s.witness.figures.leaks++
		s.wrong("%s is left on %s, and nothing explains it: %+v, removal %+v", b.Name, b.Host, b, b.removal)
		if b.asked != nil && s.witness.others(b) > 0 {
			s.witness.figures.doubles++
		}
	case b.asked != nil:
		s.witness.figures.unseen++
		s.witness.figures.causes[cause]++
		s.note("judge", "%s is left on %s: %s", b.Name, b.Host, cause)
	}
}

// others counts what else is there that was composed for the same key.
func (w *observer) others(b *birth) (n int) {
	for _, other := range w.order {
		if other != b && !other.gone && other.asked != nil && other.key() == b.key() {
			n++
		}
	}
	return n
}

// The reasons for which an instance may be left.
const (
	byOperator    = "an operator made it, or meddled with it"
	loserOfTwo    = "MAAS refused the loser of two composes of one name by two owners once LXD had made it"
	loserOfLoss   = "MAAS refused the second of two composes of one name once LXD had made it; the ledger that knew of the first was lost"
	loserOfOthers = "MAAS refused the name once LXD had made the instance: a machine of an operator's, or one adopted, took it meanwhile"
	adopted       = "a sync of the host adopted it inside its compose, and the program or its ledger did not live until it had heard the answer and marked the VM, or another owner asked for the same name there"
	failedCompose = "the compose failed once LXD had made it, for MAAS could not reach LXD any more"
	keptByDelete  = "MAAS could not reach LXD between its answer \"off\" and the delete, which it reported as done"
)

// cause says why an instance is left that no one wants, as far as neither MAAS's
// API nor the ledger can have shown it to its owner; empty if nothing does.
func (w *observer) cause(b *birth) string {
	switch {
	case b.asked == nil:
		return byOperator
	case markOf(b.machine) == b.key() && b.MachineID != "":
		return "" // MAAS shows it, and it tells whose it is
	case !b.lost.IsZero() && b.removal != nil && w.away(b.Host, b.removal.span):
		return keptByDelete
	case !b.lost.IsZero() && w.meddled(b, span{from: b.lost, to: b.lost}):
		return byOperator
	case b.lost.IsZero() && w.meddled(b, span{from: b.asked.to, to: b.asked.to}):
		return byOperator
	case b.asked.status != http.StatusOK: // MAAS may have shown it for a moment since, by a sync that failed
		return w.leakedBy(b)
	}
	return ""
}

// leakedBy says why a compose failed although LXD had made the instance.
func (w *observer) leakedBy(b *birth) string {
	a := b.asked
	switch {
	case a.status == http.StatusServiceUnavailable && w.away(a.host, a.span):
		return failedCompose
	case a.status != http.StatusBadRequest || !strings.Contains(a.body, "already exists"):
		return ""
	}
	reason := loserOfOthers
	if !b.visible.IsZero() && !b.visible.After(a.to) && b.machine.Hostname == a.name {
		reason = ""
		if !w.knew(a) {
			reason = adopted
		}
	}
	for _, other := range w.composes {
		switch {
		case other == a || other.name != a.name || other.fruit == nil || !other.meets(a.span) && other.fruit.visible.IsZero():
		case other.life.owner != a.life.owner:
			return loserOfTwo
		case other.life.edition != a.life.edition:
			return loserOfLoss
		case other.meets(a.span):
			return "" // the same owner asked twice, and knew it
		}
	}
	return reason
}

// knew reports whether a program heard that its compose was refused, looked, and
// lived on with its ledger, which was there, so that it must have found what MAAS had
// adopted. It
// proves nothing where another owner asked for the same name on the same host.
func (w *observer) knew(a *asked) bool {
	if a.life.edition != a.life.owner.book.edition || w.contested(a) {
		return false
	}
	for _, l := range w.looks {
		died := a.life.died.Load()
		if w.away(serviceOfAll, span{from: a.to, to: l.at.Add(time.Second)}) {
			continue
		}
		if l.life == a.life && l.name == a.name && a.heard && l.at.After(a.to) && l.at.Before(a.to.Add(10*time.Second)) &&
			(died == 0 || time.Unix(0, died).Sub(l.at) > time.Second) {
			return true
		}
	}
	return false
}

// contested reports whether another owner was after the same name when the
// compose ended, so that it might be his.
func (w *observer) contested(a *asked) bool {
	for key, at := range w.placed {
		if key != a.key && strings.HasSuffix(string(key), "/"+a.name) && at.Before(a.to.Add(time.Second)) && at.After(a.to.Add(-known)) {
			return true
		}
	}
	return false
}
