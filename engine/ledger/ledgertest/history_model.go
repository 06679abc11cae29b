package ledgertest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/maaslxd/maaslxd/engine"
)

// operation is a method of engine.Ledger that the history records.
type operation string

const (
	opTag     operation = "Tag"
	opRow     operation = "Row"
	opPlace   operation = "Place"
	opBind    operation = "Bind"
	opLeaving operation = "Leaving"
	opDrop    operation = "Drop"
)

// call is what a client asked.
type call struct {
	operation
	key engine.Key
	// Of Place: the need and the inventory.
	cores int64
	inventory
	// Of Bind and Drop: the row as it was read.
	row engine.Row

	began time.Time
}

// tookEffect reports whether a call took effect, judged by the row that is there after it.
func (c call) tookEffect(row engine.Row) bool {
	switch c.operation {
	case opPlace:
		return row.Key != ""
	case opDrop:
		return row.Key == ""
	case opBind:
		return row.State == engine.RowBound
	default:
		return row.State == engine.RowLeaving
	}
}

// result is how the ledger answered.
type result struct {
	unanswered bool // no answer came: it was done, will be done at some time, or never
	sequence   int64
	row        engine.Row // without a key: there is no row
	fresh      bool
	refused    refusal
}

// refusal says why Place gave no row.
type refusal string

const (
	refusedBusy   refusal = "busy"
	refusedNoRoom refusal = "no room"
)

// sequentialLedger is a ledger that does one operation after the other. It is a value: each
// change makes a copy.
type sequentialLedger struct {
	sequence, floor int64
	rows            map[engine.Key]modelRow
}

type modelRow struct {
	host, systemID string
	state          engine.RowState
	cores          int64
	shownFrom      int64
}

// neverShown is the shownFrom of rows that no inventory shows.
const neverShown = int64(^uint64(0) >> 1)

// historyJudge has what the judge needs beside the history.
type historyJudge struct {
	coresByHost    map[string]int64
	lastGeneration string // the generation of the ledger at the end
}

// model is the model for porcupine.
func (j historyJudge) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return sequentialLedger{} },
		Step: func(state, input, output any) (bool, any) {
			return j.applyStep(state.(sequentialLedger), input.(call), output.(result))
		},
		Equal: func(one, other any) bool {
			a, b := one.(sequentialLedger), other.(sequentialLedger)
			return a.sequence == b.sequence && a.floor == b.floor && maps.Equal(a.rows, b.rows)
		},
		Hash: func(state any) uint64 {
			s := state.(sequentialLedger)
			return uint64(s.sequence)<<32 ^ uint64(s.floor)<<16 ^ uint64(len(s.rows))
		},
		DescribeOperation: func(input, output any) string { return describeCall(input.(call), output.(result)) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

func describeCall(c call, r result) string {
	asked := fmt.Sprintf("%s(%s", c.operation, c.key)
	if c.operation == opPlace {
		asked += fmt.Sprintf(", %d cores, at %d", c.cores, c.tag.Sequence)
		for _, h := range c.hosts {
			asked += fmt.Sprintf(", %s has %d", h.HostKey, h.Free.Cores)
		}
	}
	switch {
	case r.unanswered:
		return asked + ") → no answer"
	case r.refused != "":
		return asked + ") → " + string(r.refused)
	case c.operation == opTag:
		return fmt.Sprintf("%s) → %d", asked, r.sequence)
	case c.operation == opPlace, c.operation == opRow:
		return fmt.Sprintf("%s) → %s on %q, %q, fresh %t", asked, r.row.State, r.row.HostKey, r.row.SystemID, r.fresh)
	}
	return asked + ")"
}

// applyStep reports whether the ledger may answer so in a state, and returns the next state.
func (j historyJudge) applyStep(s sequentialLedger, c call, r result) (bool, sequentialLedger) {
	switch c.operation {
	case opTag:
		return r.sequence == s.sequence, s
	case opRow:
		return s.hasRow(c.key, r.row), s
	case opPlace:
		return j.applyPlace(s, c, r)
	case opBind:
		return (r.refused == refusedBusy) == (s.rows[c.key].state == engine.RowLeaving) || r.unanswered, s.afterBind(c)
	case opLeaving:
		return r.refused == "", s.afterLeaving(c.key)
	default:
		return r.refused == "", s.afterDrop(c)
	}
}

// hasRow reports whether a row is in the ledger unchanged.
func (s sequentialLedger) hasRow(key engine.Key, row engine.Row) bool {
	have, there := s.rows[key]
	return there == (row.Key != "") && have.host == row.HostKey && have.state == row.State && have.systemID == row.SystemID
}

// applyPlace reserves room on the first candidate with room, by rank. No host may ever have more
// rows than it has room for.
func (j historyJudge) applyPlace(s sequentialLedger, c call, r result) (bool, sequentialLedger) {
	if _, there := s.rows[c.key]; there {
		return r.unanswered || s.hasRow(c.key, r.row) && !r.fresh, s
	}
	host, fits := s.chooseHost(c)
	if host == "" {
		return r.unanswered || r.refused == refusedBusy || r.refused == refusedNoRoom && !fits, s
	}
	if r.refused == refusedBusy && c.tag.Generation != j.lastGeneration {
		return true, s // the inventory is from before the ledger was opened again
	}
	after := s.withRow(c.key, modelRow{host: host, state: engine.RowPending, cores: c.cores, shownFrom: neverShown})
	if r.unanswered {
		return true, after
	}
	return r.fresh && r.refused == "" && after.hasRow(c.key, r.row) && after.hostLoad(host) <= j.coresByHost[host], after
}

// chooseHost returns the host that gets the row; empty: none does. fits reports whether there is
// room by the inventory alone.
func (s sequentialLedger) chooseHost(c call) (host string, fits bool) {
	least := int64(0)
	for _, h := range slices.SortedFunc(slices.Values(c.hosts), func(a, b engine.Candidate) int { return cmp.Compare(a.HostKey, b.HostKey) }) {
		if h.Free.Cores < c.cores {
			continue
		}
		fits = true
		vms, cores := s.unshownLoad(h.HostKey, c.tag.Sequence)
		rank := h.Rank + h.Step*vms
		if cores <= h.Free.Cores-c.cores && (host == "" || rank < least) {
			host, least = h.HostKey, rank
		}
	}
	if c.tag.Sequence < s.floor {
		host = ""
	}
	return host, fits
}

// unshownLoad is the load of a host that an inventory of a sequence does not show.
func (s sequentialLedger) unshownLoad(host string, sequence int64) (vms, cores int64) {
	for _, row := range s.rows {
		if row.host == host && row.shownFrom > sequence {
			vms, cores = vms+1, cores+row.cores
		}
	}
	return vms, cores
}

// hostLoad is the load of all rows on a host.
func (s sequentialLedger) hostLoad(host string) (cores int64) {
	_, cores = s.unshownLoad(host, -1)
	return cores
}

func (s sequentialLedger) afterBind(c call) sequentialLedger {
	row, there := s.rows[c.key]
	if !there {
		row = modelRow{cores: c.row.Need.Cores}
	}
	if there && row.state != engine.RowPending && row.systemID == c.row.SystemID && row.host == c.row.HostKey {
		return s
	}
	s.sequence++
	row.host, row.systemID = c.row.HostKey, c.row.SystemID
	if row.state != engine.RowLeaving {
		row.state, row.shownFrom = engine.RowBound, s.sequence
	}
	return s.withRow(c.key, row)
}

func (s sequentialLedger) afterLeaving(key engine.Key) sequentialLedger {
	row, there := s.rows[key]
	if !there || row.state == engine.RowLeaving {
		return s
	}
	s.sequence++
	row.state, row.shownFrom = engine.RowLeaving, neverShown
	return s.withRow(key, row)
}

// afterDrop removes a row if it has not changed since it was read. If that gives up a compose,
// no older inventory may be used any more.
func (s sequentialLedger) afterDrop(c call) sequentialLedger {
	row, there := s.rows[c.key]
	if !there || row.state != c.row.State || row.systemID != c.row.SystemID {
		return s
	}
	s.sequence++
	if row.systemID == "" {
		s.floor = s.sequence
	}
	s.rows = maps.Clone(s.rows)
	delete(s.rows, c.key)
	return s
}

// withRow returns the state with another row for a key.
func (s sequentialLedger) withRow(key engine.Key, row modelRow) sequentialLedger {
	rows := maps.Clone(s.rows)
	if rows == nil {
		rows = map[engine.Key]modelRow{}
	}
	rows[key] = row
	s.rows = rows
	return s
}
