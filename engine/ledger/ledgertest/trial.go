package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Trial describes a test of a store while its parts die and replies get lost.
type Trial struct {
	// Open opens the ledger for a client, over a connection of its own.
	Open func(client int) engine.Ledger
	// InjectFaults kills, stops and cuts off what keeps the ledger, until ctx ends. When it
	// returns, everything works again. nil: there are no faults.
	InjectFaults func(ctx context.Context, rnd *rand.Rand)
	// Clients is how many clients work at once. Each takes Steps steps.
	Clients, Steps int
	// Seed is the seed of all random choices. The clients run at once, so it does not repeat
	// their order.
	Seed uint64
	// StaleReads means that a read may answer what was true before. Then only the writes are
	// judged.
	StaleReads bool
}

// rnd returns a source of random choices, one for each use.
func (trial Trial) rnd(use uint64) *rand.Rand { return rand.New(rand.NewPCG(trial.Seed, use)) }

// run lets the clients work, and injects faults until all clients are done.
func (trial Trial) run(t *testing.T, work func(client int, l engine.Ledger)) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients, trouble sync.WaitGroup
	handles := make([]engine.Ledger, trial.Clients)
	for n := range handles {
		handles[n] = trial.Open(n)
	}
	if trial.InjectFaults != nil {
		trouble.Go(func() { trial.InjectFaults(ctx, trial.rnd(0)) })
	}
	for n, l := range handles {
		clients.Go(func() { work(n, l) })
	}
	clients.Wait()
	cancel()
	trouble.Wait()
}

// scarceRegion returns a region whose hosts have this many cores each.
func scarceRegion(cores ...int64) *Region {
	region := &Region{}
	for n, c := range cores {
		region.Hosts = append(region.Hosts, engine.Candidate{
			HostKey: fmt.Sprint("h", n+1), Zone: "az1", Rank: int64(n), Step: 1, Free: engine.Need{Cores: c, MemoryMiB: 1 << 30},
		})
	}
	return region
}

// readInventory reads the hosts by a tag that was read before.
func readInventory(region *Region, tag engine.Tag) inventory {
	inv := inventory{tag: tag}
	for n := range region.Hosts {
		inv.hosts = append(inv.hosts, region.ReadHost(n))
	}
	return inv
}

// CheckAcknowledgedOnce lets the clients make VMs on hosts that have room for three of four. It
// wants each acknowledged write to be there once. It wants the room to be used up and never
// exceeded. One step is one VM.
func CheckAcknowledgedOnce(t *testing.T, trial Trial) {
	total := int64(trial.Clients * trial.Steps)
	region := scarceRegion(total/4, total/4, total/4)
	made := &acknowledgedRows{rows: map[engine.Key]engine.Row{}}
	trial.run(t, func(client int, l engine.Ledger) {
		for n := range trial.Steps {
			w := writer{t: t, ledger: l, region: region, made: made, key: engine.Key(fmt.Sprintf("owner-%d/vm-%d", client, n))}
			w.makeVM()
		}
	})
	for _, over := range region.OverCommits() {
		t.Error(over)
	}
	made.wantInLedger(t, trial.Open(trial.Clients), int(total/4)*3)
}

// acknowledgedRows are the rows whose writes were answered.
type acknowledgedRows struct {
	mu   sync.Mutex
	rows map[engine.Key]engine.Row
	lost int // calls without an answer; each was made again
}

// wantInLedger wants the ledger to have exactly these rows.
func (a *acknowledgedRows) wantInLedger(t *testing.T, l engine.Ledger, want int) {
	rows, err := l.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[engine.Key]bool{}
	for _, row := range rows {
		mine, known := a.rows[row.Key]
		if seen[row.Key] || !known || row.HostKey != mine.HostKey || row.SystemID != mine.SystemID || row.Token != mine.Token || row.State != engine.RowBound {
			t.Errorf("acknowledged was %+v, and there is %+v", mine, row)
		}
		seen[row.Key] = true
	}
	if len(seen) != len(a.rows) || len(seen) != want {
		t.Errorf("%d rows, %d were acknowledged, and there was room for %d", len(seen), len(a.rows), want)
	}
	t.Logf("%d rows acknowledged, %d rows there, room for %d, %d calls made again for want of an answer", len(a.rows), len(rows), want, a.lost)
}

// writer makes one VM.
type writer struct {
	t      *testing.T
	ledger engine.Ledger
	region *Region
	made   *acknowledgedRows
	key    engine.Key

	unanswered bool // a call got no answer
}

// makeVM reserves room, composes and binds. It makes each call again until it is answered.
func (w *writer) makeVM() {
	row, fresh, ok := w.place()
	if !ok {
		return
	}
	if !fresh && !w.unanswered {
		w.t.Errorf("%s has a row that nobody placed: %+v", w.key, row)
	}
	w.region.BeginCompose(row)
	w.region.FinishCompose(w.key)
	row = withSystemID(row, "id-of-"+string(w.key))
	w.callUntilAnswered(func(ctx context.Context) error { return w.ledger.Bind(ctx, row) })
	w.made.mu.Lock()
	defer w.made.mu.Unlock()
	w.made.rows[w.key] = row
}

// place reserves room; ok is false where there is none.
func (w *writer) place() (row engine.Row, fresh, ok bool) {
	for !w.t.Failed() {
		var tag engine.Tag
		w.callUntilAnswered(func(ctx context.Context) (err error) {
			tag, err = w.ledger.CurrentTag(ctx)
			return err
		})
		inv := readInventory(w.region, tag)
		err := w.callUntilAnswered(func(ctx context.Context) (err error) {
			row, fresh, err = w.ledger.Place(ctx, engine.Reservation{
				Key: w.key, Name: "web-1", Need: engine.Need{Cores: 1}, Candidates: inv.hosts, Inventory: inv.tag,
			})
			return err
		})
		if err == nil {
			return row, fresh, true
		}
		if !errors.Is(err, engine.ErrBusy) {
			return engine.Row{}, false, false // no room
		}
		time.Sleep(time.Millisecond)
	}
	return engine.Row{}, false, false
}

// callUntilAnswered makes a call until the ledger answers it. It returns the answer if it is a
// refusal.
func (w *writer) callUntilAnswered(call func(context.Context) error) error {
	for {
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		err := call(ctx)
		cancel()
		if isAnswer(err) {
			return err
		}
		if w.t.Context().Err() != nil {
			w.t.Errorf("%s: no answer before the end of the test: %v", w.key, err)
			return nil
		}
		w.unanswered = true
		w.made.mu.Lock()
		w.made.lost++
		w.made.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// isAnswer reports whether an error says for sure that the call was or was not done. After any
// other error the ledger may have done the call, or may do it later.
func isAnswer(err error) bool {
	failure, known := errors.AsType[*engine.Error](err)
	return err == nil || errors.Is(err, engine.ErrBusy) || errors.Is(err, engine.ErrNotFound) || known && failure.Type == engine.InsufficientResources
}
