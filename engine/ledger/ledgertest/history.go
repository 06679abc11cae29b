package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/maaslxd/maaslxd/engine"
)

var (
	historyCount = flag.Int("ledger.histories", 2, "how many histories to record of each store")
	historySteps = flag.Int("ledger.steps", 150, "how many steps each client of a history takes")
)

// CheckHistories checks some histories of one kind of store with CheckLinearizable.
// -ledger.histories is how many, and -ledger.seed is the first seed. store opens an empty store,
// and leaves Clients, Steps and Seed unset.
//
// In a history with faults, a few calls take seconds. Then the judge sometimes has too many
// orders to try: within a minute it finds neither an order that explains the answers nor that
// there is none. At most a quarter of the histories may end so, and one of two.
func CheckHistories(t *testing.T, store func(*testing.T) Trial) {
	var open []uint64
	for n := range *historyCount {
		seed := max(1, *firstSeed) + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			trial := store(t)
			trial.Clients, trial.Steps, trial.Seed = 8, *historySteps, seed
			if !CheckLinearizable(t, trial) {
				open = append(open, seed)
			}
		})
	}
	t.Logf("%d of %d histories were judged; open are %v", *historyCount-len(open), *historyCount, open)
	if len(open) > max(1, *historyCount/4) || *historyCount == 1 && len(open) > 0 {
		t.Errorf("the histories prove too little: the judge could not decide about those of the seeds %v", open)
	}
}

// CheckLinearizable records what clients ask a ledger and what it answers. It then looks for an
// order of all operations in which a ledger without concurrency gives the same answers. Each
// operation takes effect once, between its call and its answer.
//
// A call may get no answer. Then its client leaves the key alone for a while, and reads the row.
// The call took effect by then, or it never does. So the check finds a ledger that does a write
// long after its caller's time was over.
//
// As in production, only one client at a time writes a key. The exception are keys that nobody
// drops: all clients place those. They compete for the room of the hosts, and read each other's
// rows.
//
// It returns false if the judge could not decide, which proves nothing.
func CheckLinearizable(t *testing.T, trial Trial) (decided bool) {
	h, last := recordHistory(t, trial)
	recorded := time.Since(h.began)
	verdict, picture := h.findOrder(last)
	t.Logf("seed %d: %s, recorded in %s and judged in %s",
		trial.Seed, h, recorded.Round(time.Millisecond), (time.Since(h.began) - recorded).Round(time.Millisecond))
	for _, over := range h.region.OverCommits() {
		t.Error(over)
	}
	if verdict == porcupine.Illegal {
		path := filepath.Join(t.ArtifactDir(), "history.html")
		if err := os.WriteFile(path, picture(), 0o600); err != nil {
			t.Error(err)
		}
		t.Errorf("no order of the operations explains the answers (%s). The longest one is in %s; go test -artifacts keeps it", verdict, path)
	}
	if h.placed == 0 || h.refused == 0 || trial.InjectFaults != nil && h.unanswered == 0 {
		t.Errorf("the history proves nothing: %s", h)
	}
	return verdict != porcupine.Unknown
}

// recordHistory lets the clients take their steps. It also returns the last generation of the
// ledger.
func recordHistory(t *testing.T, trial Trial) (h *history, last string) {
	h = newHistory(trial)
	trial.run(t, func(n int, l engine.Ledger) {
		c := h.newClient(t, n, l)
		for range trial.Steps {
			c.step()
		}
		c.resolveUnanswered()
	})
	tag, err := trial.Open(trial.Clients).CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h, tag.Generation
}

// history records what the clients did and what they were answered.
type history struct {
	trial  Trial
	began  time.Time
	region *Region // what the hosts hold, for inventories

	mu                          sync.Mutex
	operations                  []porcupine.Operation
	placed, refused, unanswered int
	reads                       int
}

func newHistory(trial Trial) *history {
	cores := int64(trial.Clients) * 2 // for each of two hosts: two thirds of what the clients want
	return &history{trial: trial, began: time.Now(), region: scarceRegion(cores, cores, contestedKeys/2)}
}

// String counts the operations and outcomes.
func (h *history) String() string {
	return fmt.Sprintf("%d operations by %d clients, %d reads among them, %d VMs placed, %d refused, %d calls without an answer",
		len(h.operations), h.trial.Clients, h.reads, h.placed, h.refused, h.unanswered)
}

// orderSearchTimeout is how long the judge looks for an order.
const orderSearchTimeout = time.Minute

// findOrder looks for an order. picture shows the longest one that it found.
func (h *history) findOrder(last string) (verdict porcupine.CheckResult, picture func() []byte) {
	j := historyJudge{coresByHost: map[string]int64{}, lastGeneration: last}
	for _, host := range h.region.Hosts {
		j.coresByHost[host.HostKey] = host.Free.Cores
	}
	verdict, info := porcupine.CheckOperationsVerbose(j.model(), h.operations, orderSearchTimeout)
	return verdict, func() []byte { return renderHistory(j.model(), info) }
}

// renderHistory makes an HTML page with the operations and the longest order.
func renderHistory(model porcupine.Model, info porcupine.LinearizationInfo) []byte {
	var page bytes.Buffer
	if err := porcupine.Visualize(model, info, &page); err != nil {
		return fmt.Appendf(nil, "the history cannot be drawn: %v", err)
	}
	return page.Bytes()
}

// recordOperation records an operation that began at a time and is over now.
func (h *history) recordOperation(client int, began time.Time, asked call, heard result) {
	now := time.Since(h.began)
	h.mu.Lock()
	defer h.mu.Unlock()
	reads := asked.operation == opTag || asked.operation == opRow
	switch {
	case heard.unanswered: // also for a key that others write: it may still be done
		h.unanswered++
		now = math.MaxInt64
	case heard.refused != "":
		h.refused++
	case heard.fresh:
		h.placed++
	case reads:
		h.reads++
	}
	if reads && h.trial.StaleReads {
		return
	}
	h.appendOperation(client, began, asked, heard, now)
}

// appendOperation adds an operation that ended at a time.
func (h *history) appendOperation(client int, began time.Time, asked call, heard result, ended time.Duration) {
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: client, Input: asked, Call: int64(began.Sub(h.began)), Output: heard, Return: int64(ended),
	})
}

const (
	keysPerClient = 4
	contestedKeys = 12 // keys that all clients place, on a separate host with room for half of them
	maxHastyCalls = 3  // calls that each client gives up too soon
	// unansweredPause is how long a client leaves a key alone after a call without an answer.
	unansweredPause = 2 * time.Second
)

// historyClient is one client of a history.
type historyClient struct {
	*history
	ctx    context.Context
	number int
	ledger engine.Ledger
	rnd    *rand.Rand
	latest inventory
	hasty  int
	vms    []*ownVM
}

// ownVM is what a client knows of a key that only this client writes.
type ownVM struct {
	key         engine.Key
	row         engine.Row // without a key: there is no row
	unsure      bool       // the row may have changed since
	pausedUntil time.Time  // the client leaves the key alone until then

	unanswered *call // a call without an answer so far; nil: none
}

func (h *history) newClient(t *testing.T, n int, l engine.Ledger) *historyClient {
	c := &historyClient{history: h, ctx: t.Context(), number: n, ledger: l, rnd: h.trial.rnd(uint64(n) + 1)}
	for i := range keysPerClient {
		c.vms = append(c.vms, &ownVM{key: ownKey(n, i)})
	}
	return c
}

func ownKey(client, n int) engine.Key { return engine.Key(fmt.Sprintf("owner-%d/vm-%d", client, n)) }

// step takes the next step of some VM.
func (c *historyClient) step() {
	switch c.rnd.IntN(8) {
	case 0:
		c.readRow(ownKey(c.rnd.IntN(c.trial.Clients), c.rnd.IntN(keysPerClient)))
	case 1:
		key := engine.Key(fmt.Sprint("contested/vm-", c.rnd.IntN(contestedKeys)))
		row, fresh, unanswered := c.placeOn(c.ctx, key, 1, c.region.Hosts[2:])
		if fresh {
			c.region.BeginCompose(row)
		}
		if unanswered != nil { // then nobody knows whose row it is
			c.recordOperation(c.number, unanswered.began, *unanswered, result{unanswered: true})
		}
	default:
		if vm := c.vms[c.rnd.IntN(len(c.vms))]; time.Now().After(vm.pausedUntil) {
			c.advanceVM(vm)
		}
	}
}

// advanceVM takes a VM one step further.
func (c *historyClient) advanceVM(vm *ownVM) {
	switch {
	case vm.unsure || c.rnd.IntN(6) == 0:
		c.refreshVM(vm)
	case vm.row.Key == "":
		ctx, cancel := c.callContext()
		defer cancel()
		row, _, unanswered := c.placeOn(ctx, vm.key, 1+c.rnd.Int64N(2), c.region.Hosts[:2])
		vm.row = row
		c.pauseUnanswered(vm, unanswered)
	case vm.row.State == engine.RowPending && !c.isComposed(vm) && c.rnd.IntN(4) == 0:
		c.drop(vm)
	case vm.row.State == engine.RowPending:
		c.bind(vm)
	case vm.row.State == engine.RowBound:
		c.write(vm, call{operation: opLeaving, key: vm.key}, func(ctx context.Context) error { return c.ledger.MarkLeaving(ctx, vm.key) })
		vm.unsure = true // the row has another date now
	default:
		c.region.BeginRemoval(vm.key)
		c.region.FinishRemoval(vm.key)
		c.drop(vm)
	}
}

// refreshVM reads the row of a VM, and so learns what became of a call without an answer. If
// reads may be late, it asks for room on no host instead: that returns the row, too.
func (c *historyClient) refreshVM(vm *ownVM) {
	look := c.readRow
	if c.trial.StaleReads {
		look = c.readRowByPlace
	}
	row, answered := look(vm.key)
	if !answered {
		vm.unsure = true
		return
	}
	vm.row, vm.unsure = row, false
	if vm.unanswered == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if vm.unanswered.tookEffect(row) {
		c.appendOperation(c.number, vm.unanswered.began, *vm.unanswered, result{row: row, fresh: true}, time.Since(c.history.began))
	}
	vm.unanswered = nil
}

// pauseUnanswered leaves a key alone for a while if a call got no answer.
func (c *historyClient) pauseUnanswered(vm *ownVM, unanswered *call) {
	if unanswered == nil {
		return
	}
	vm.unsure, vm.unanswered, vm.pausedUntil = true, unanswered, time.Now().Add(unansweredPause)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unanswered++
}

// resolveUnanswered finds out what became of all calls without an answer.
func (c *historyClient) resolveUnanswered() {
	for _, vm := range c.vms {
		for vm.unsure && c.ctx.Err() == nil {
			time.Sleep(time.Until(vm.pausedUntil))
			c.refreshVM(vm)
		}
	}
}

// callContext returns a ctx for one call. A few calls get less time than they need.
func (c *historyClient) callContext() (context.Context, context.CancelFunc) {
	patience := 20 * time.Second
	if c.hasty < maxHastyCalls && c.rnd.IntN(c.trial.Steps) < 2*maxHastyCalls {
		c.hasty++
		patience = time.Duration(c.rnd.IntN(5000)) * time.Microsecond
	}
	return context.WithTimeout(c.ctx, patience)
}

// readRow reads a row. answered is false if no answer came.
func (c *historyClient) readRow(key engine.Key) (row engine.Row, answered bool) {
	ctx, cancel := c.callContext()
	defer cancel()
	began := time.Now()
	row, err := c.ledger.Row(ctx, key)
	answered = isAnswer(err)
	if answered {
		c.recordOperation(c.number, began, call{operation: opRow, key: key}, result{row: row})
	}
	return row, answered
}

// placeOn asks for room on some hosts, sometimes with an old inventory. If tags are not judged,
// it always uses a new inventory, because old ones would cost the judge minutes. unanswered is
// the call if no answer came.
func (c *historyClient) placeOn(ctx context.Context, key engine.Key, cores int64, hosts []engine.Candidate) (row engine.Row, fresh bool, unanswered *call) {
	if (c.latest.hosts == nil || c.trial.StaleReads || c.rnd.IntN(4) > 0) && !c.readInventory(ctx) {
		return engine.Row{}, false, nil
	}
	asked := call{operation: opPlace, key: key, cores: cores, inventory: inventory{tag: c.latest.tag}}
	for _, host := range c.latest.hosts {
		if slices.ContainsFunc(hosts, func(h engine.Candidate) bool { return h.HostKey == host.HostKey }) {
			asked.hosts = append(asked.hosts, host)
		}
	}
	return c.place(ctx, asked)
}

// readRowByPlace reads a row by a Place without candidates.
func (c *historyClient) readRowByPlace(key engine.Key) (row engine.Row, answered bool) {
	ctx, cancel := c.callContext()
	defer cancel()
	if c.latest.hosts == nil && !c.readInventory(ctx) {
		return engine.Row{}, false
	}
	row, _, unanswered := c.place(ctx, call{operation: opPlace, key: key, inventory: inventory{tag: c.latest.tag}})
	return row, unanswered == nil
}

// place makes the reservation of a call.
func (c *historyClient) place(ctx context.Context, asked call) (row engine.Row, fresh bool, unanswered *call) {
	asked.began = time.Now()
	row, fresh, err := c.ledger.Place(ctx, engine.Reservation{
		Key: asked.key, Name: "web-1", Need: engine.Need{Cores: asked.cores}, Candidates: asked.hosts, Inventory: asked.tag,
	})
	heard := result{row: row, fresh: fresh}
	switch {
	case err == nil:
	case !isAnswer(err):
		return engine.Row{}, false, &asked
	case errors.Is(err, engine.ErrBusy):
		heard.refused = refusedBusy
	default:
		heard.refused = refusedNoRoom
	}
	c.recordOperation(c.number, asked.began, asked, heard)
	return row, fresh, nil
}

// readInventory reads the inventory.
func (c *historyClient) readInventory(ctx context.Context) bool {
	began := time.Now()
	tag, err := c.ledger.CurrentTag(ctx)
	if err != nil {
		return false
	}
	c.recordOperation(c.number, began, call{operation: opTag}, result{sequence: tag.Sequence})
	c.latest = readInventory(c.region, tag)
	return true
}

func (c *historyClient) isComposed(vm *ownVM) bool {
	_, _, there := c.region.FindVM(vm.key)
	return there
}

// bind ends a compose.
func (c *historyClient) bind(vm *ownVM) {
	if !c.isComposed(vm) {
		c.region.BeginCompose(vm.row)
		c.region.FinishCompose(vm.key)
	}
	row := withSystemID(vm.row, fmt.Sprint("id-", c.region.CountComposes(vm.key), "-of-", vm.key))
	c.write(vm, call{operation: opBind, key: vm.key, row: row}, func(ctx context.Context) error { return c.ledger.Bind(ctx, row) })
	vm.row, vm.row.State = row, engine.RowBound
}

// drop removes the row as it was read.
func (c *historyClient) drop(vm *ownVM) {
	row := vm.row
	c.write(vm, call{operation: opDrop, key: vm.key, row: row}, func(ctx context.Context) error { return c.ledger.Drop(ctx, row) })
	vm.row = engine.Row{}
}

// write makes a call that returns no row.
func (c *historyClient) write(vm *ownVM, asked call, do func(context.Context) error) {
	ctx, cancel := c.callContext()
	defer cancel()
	asked.began = time.Now()
	switch err := do(ctx); {
	case err == nil:
		c.recordOperation(c.number, asked.began, asked, result{})
	case isAnswer(err):
		c.recordOperation(c.number, asked.began, asked, result{refused: refusedBusy})
		vm.unsure = true
	default:
		c.pauseUnanswered(vm, &asked)
	}
}
