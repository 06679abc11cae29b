package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// configForNodes configures a client for several nodes, which are test nodes or other addresses.
func configForNodes(c remote.Config, addresses ...string) remote.Config {
	for n := range addresses {
		addresses[n] = "https://" + addresses[n]
	}
	c.Address = strings.Join(addresses, ",")
	return c
}

// replyingHandler is a node that gives every call the same answer, with a protocol version.
func replyingHandler(protocol string, status int, answer wire.Answer) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			if protocol != "" {
				rw.Header().Set(wire.HeaderProtocol, protocol)
			}
			rw.WriteHeader(status)
			_ = json.NewEncoder(rw).Encode(answer)
		})
	}
}

// hangingHandler is a node that accepts calls and never answers.
func hangingHandler(http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

// noLeaderError is the error of a node whose cluster has no leader.
func noLeaderError() error {
	return &engine.Refusal{Message: "there is no leader", Hint: "Start more nodes.", Err: engine.ErrUnavailable}
}

// stopUntilCleanup makes a node hang until the test ends.
func (w *testNode) stopUntilCleanup() {
	w.stop()
	w.t.Cleanup(w.start)
}

// refusingAddress is an address that refuses connections.
func refusingAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// silentAddress is an address that accepts connections and then sends nothing.
func silentAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String() // the kernel accepts connections
}

// nodeFaults are the faults of a node with which another node must do the call.
var nodeFaults = map[string]struct {
	reason string
	make   func(*testing.T, *testNode) string // makes a node faulty, and returns its address
}{
	"Refused": {"Nothing listens there.", func(t *testing.T, _ *testNode) string { return refusingAddress(t) }},
	"Dead":    {"Connections break.", func(_ *testing.T, w *testNode) string { w.stopUntilCleanup(); return w.addr }},
	"Silent":  {"Nothing is said on a connection.", func(t *testing.T, _ *testNode) string { return silentAddress(t) }},
	"Hung": {"Calls are taken and not answered.", func(_ *testing.T, w *testNode) string {
		w.restartWith(func() { w.wrap = hangingHandler })
		return w.addr
	}},
	"Ending": {"It does nothing any more.", func(_ *testing.T, w *testNode) string {
		w.restartWith(func() {
			w.wrap = replyingHandler(wire.ProtocolVersion(), http.StatusServiceUnavailable, wire.Answer{Error: wire.FromError(wire.ErrShuttingDown)})
		})
		return w.addr
	}},
	"Unavailable": {"It has no leader.", func(_ *testing.T, w *testNode) string {
		w.restartWith(func() { w.available = noLeaderError })
		return w.addr
	}},
	"Proxy": {"A proxy answers in its place.", func(_ *testing.T, w *testNode) string {
		w.restartWith(func() { w.wrap = replyingHandler("", http.StatusBadGateway, wire.Answer{}) })
		return w.addr
	}},
	"Newer": {"It was upgraded first.", func(_ *testing.T, w *testNode) string {
		w.restartWith(func() { w.wrap = replyingHandler("2 abcdef", http.StatusTeapot, wire.Answer{}) })
		return w.addr
	}},
	"Older": {"It is upgraded last.", func(_ *testing.T, w *testNode) string {
		w.restartWith(func() { w.wrap = replyingHandler("0 abcdef", http.StatusTeapot, wire.Answer{}) })
		return w.addr
	}},
}

// TestNextNode calls a cluster whose first node has a fault. The second node does the call, and
// later calls ask it first.
func TestNextNode(t *testing.T) {
	t.Parallel()
	for name, tc := range nodeFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := newTestNode(t)
			bad := good.addNode()
			config := configForNodes(good.addClient("ci", allRights), tc.make(t, bad), good.addr, refusingAddress(t))
			reservation := newReservation(t, mustNewClient(t, configForNodes(config, good.addr)).Region("mark"), "ci/web-1", 4)
			l := mustNewClient(t, config).Region("mark")
			began := time.Now()
			if _, fresh, err := l.Place(boundedContext(t), reservation); err != nil || !fresh {
				t.Fatalf("%s\ngot fresh %t, %v", tc.reason, fresh, err)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("%s\nit cost %s", tc.reason, took)
			}
			asked := bad.countConnections()
			for range 10 {
				if _, err := l.Row(boundedContext(t), "ci/web-1"); err != nil {
					t.Fatal(err)
				}
			}
			if again := bad.countConnections() - asked; again > 0 {
				t.Errorf("%s\nit was asked again %d times", tc.reason, again)
			}
		})
	}
}

// TestNextNodeAtOnce lets several calls meet a node that hangs. Together they move on by one
// node only: they never ask the third node. There are few calls, because the next node has to
// answer each within seconds, also on a busy machine.
func TestNextNodeAtOnce(t *testing.T) {
	t.Parallel()
	good := newTestNode(t)
	bad, third := good.addNode(), good.addNode()
	bad.restartWith(func() { bad.wrap = hangingHandler })
	l := mustNewClient(t, configForNodes(good.addClient("ci", allRights), bad.addr, good.addr, third.addr)).Region("mark")
	var all sync.WaitGroup
	for range 5 { // if each call moved on by one node, the third node would be preferred
		all.Go(func() {
			if _, err := l.Rows(boundedContext(t)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := l.Rows(boundedContext(t)); err != nil {
		t.Error(err)
	}
	if calls := len(good.requests()); calls != 6 {
		t.Errorf("%d calls were done, want 6", calls)
	}
	if third.countConnections() > 0 {
		t.Errorf("the third node was asked %d times", third.countConnections())
	}
}

// TestShortOfTime: a caller with little time meets a node that hangs. The client still moves on
// to the next node, and later calls do not fail at once. The next call is answered.
func TestShortOfTime(t *testing.T) {
	t.Parallel()
	good := newTestNode(t)
	l := mustNewClient(t, configForNodes(good.addClient("ci", allRights), silentAddress(t), good.addr)).Region("mark")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := l.Rows(ctx)
	if away, ok := errors.AsType[*engine.LedgerError](err); !errors.Is(err, context.DeadlineExceeded) || !ok || !strings.HasSuffix(away.Ledger, ",https://"+good.addr) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Rows(boundedContext(t)); err != nil {
		t.Error(err)
	}
}

// TestRefusedByNode: a refusal by one node ends the call, and the client asks no other node. The
// error names that node.
func TestRefusedByNode(t *testing.T) {
	t.Parallel()
	good, foreign := newTestNode(t), newTestNode(t)
	config := good.addClient("ci", allRights)
	client := mustNewClient(t, configForNodes(config, foreign.addr, good.addr))
	_, err := client.Tag(boundedContext(t))
	wantRefusal(t, "The first node shows a certificate of another authority.", err, engine.ErrForbidden, "the ledger service "+foreign.addr+" is not trusted")
	if calls := len(good.requests()); calls > 0 {
		t.Errorf("the second node was asked %d times", calls)
	}
	if _, err := client.Tag(boundedContext(t)); err != nil {
		t.Errorf("The next call asks the next node: %v", err)
	}
	if _, err := good.clients.Revoke(t.Context(), "ci", time.Now()); err != nil {
		t.Fatal(err)
	}
	second := good.addNode()
	_, err = mustNewClient(t, configForNodes(config, good.addr, second.addr)).Tag(boundedContext(t))
	wantRefusal(t, "One node speaks for all.", err, engine.ErrForbidden, "client ci was revoked on")
	if calls := len(second.requests()); calls > 0 {
		t.Errorf("the second node was asked %d times", calls)
	}
}

// TestOtherProtocols: the client asks each node once. Then the different protocol is the error.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	a := newTestNode(t)
	b := a.addNode()
	config := a.addClient("ci", allRights)
	for _, w := range []*testNode{a, b} {
		w.restartWith(func() { w.wrap = replyingHandler("2 abcdef", http.StatusTeapot, wire.Answer{}) })
	}
	for name, addresses := range map[string][]string{"Both": {a.addr, b.addr}, "AndDead": {a.addr, refusingAddress(t)}, "DeadFirst": {refusingAddress(t), a.addr}} {
		_, err := mustNewClient(t, configForNodes(config, addresses...)).Tag(boundedContext(t))
		wantRefusal(t, name, err, engine.ErrConflict, "is newer than this program")
	}
}

// TestElectionBesideAnotherProtocol: a node of another protocol is no error while a node of this protocol waits for a
// leader.
func TestElectionBesideAnotherProtocol(t *testing.T) {
	t.Parallel()
	newer := newTestNode(t)
	electing := newer.addNode()
	newer.restartWith(func() { newer.wrap = replyingHandler("2 abcdef", http.StatusTeapot, wire.Answer{}) })
	var left atomic.Int64
	left.Store(3)
	electing.restartWith(func() {
		electing.available = func() error {
			if left.Add(-1) >= 0 {
				return noLeaderError()
			}
			return nil
		}
	})
	if _, err := mustNewClient(t, configForNodes(newer.addClient("ci", allRights), newer.addr, electing.addr)).Tag(boundedContext(t)); err != nil {
		t.Error(err)
	}
}

// TestAllDown calls nodes while none can serve, until one is back. A call that may not wait long
// ends other calls too. Their error names each node and its reason.
func TestAllDown(t *testing.T) {
	t.Parallel()
	a := newTestNode(t)
	b := a.addNode()
	dead := refusingAddress(t)
	l := mustNewClient(t, configForNodes(a.addClient("ci", allRights), a.addr, b.addr, dead)).Region("mark")
	var lacks atomic.Bool
	lacks.Store(true)
	a.restartWith(func() {
		a.available = func() error {
			if lacks.Load() {
				return noLeaderError()
			}
			return nil
		}
	})
	b.stopUntilCleanup()
	short, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	_, err := l.Rows(short)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "there is no leader (Start more nodes.)") {
		t.Errorf("got %v", err)
	}
	_, err = l.Rows(t.Context())
	if !errors.Is(err, engine.ErrUnavailable) || engine.IsTerminal(err) {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{a.addr + ": there is no leader", b.addr + ": ", dead + ": "} {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%q is missing in %v", text, err)
		}
	}
	lacks.Store(false)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, err := l.Rows(t.Context())
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestLeaderHangs: the leading node cannot be reached from here. One call finds that out.
// Meanwhile another node serves the other calls.
func TestLeaderHangs(t *testing.T) {
	t.Parallel()
	first := newTestNode(t)
	leader := first.addNode()
	first.restartWith(func() { first.leads = func() bool { return false } })
	leader.restartWith(func() { leader.wrap = hangingHandler })
	l := mustNewClient(t, configForNodes(first.addClient("ci", allRights), first.addr, leader.addr)).Region("mark")
	if _, err := l.Rows(boundedContext(t)); err != nil { // the client learns that the first node does not lead
		t.Fatal(err)
	}
	var late, served atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				began := time.Now()
				if _, err := l.Rows(boundedContext(t)); err != nil {
					t.Error(err)
				}
				served.Add(1)
				if time.Since(began) > 2*time.Second {
					late.Add(1)
				}
			}
		})
	}
	all.Wait()
	if late.Load() != 1 || leader.countConnections() == 0 {
		t.Errorf("%d of %d calls waited for the node that leads, want 1", late.Load(), served.Load())
	}
}

// TestLeaderIsAsked: calls go to the leading node, because other nodes would pass writes on to
// it. If none leads, the next node serves.
func TestLeaderIsAsked(t *testing.T) {
	t.Parallel()
	first := newTestNode(t)
	worlds := []*testNode{first, first.addNode(), first.addNode()}
	var leader atomic.Int64
	leader.Store(2)
	var addresses []string
	for n, w := range worlds {
		w.restartWith(func() { w.leads = func() bool { return leader.Load() == int64(n) } })
		addresses = append(addresses, w.addr)
	}
	l := mustNewClient(t, configForNodes(first.addClient("ci", allRights), addresses...)).Region("mark")
	ask := func(times int) {
		for range times {
			if _, err := l.Rows(boundedContext(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(10)
	if asked := len(worlds[2].requests()); asked != 8 {
		t.Errorf("the node that leads was asked %d of 10 times, want all but the first two", asked)
	}
	worlds[2].stopUntilCleanup()
	leader.Store(-1)
	ask(10)
	if asked := len(worlds[0].requests()); asked != 1+9 {
		t.Errorf("without one, the next node was asked %d times, want 1, and all of 10 but the one that asked whether another leads", asked)
	}
}

// TestReasonIsKept calls a node that says why it cannot serve, and then hangs. The caller gives
// up while the call is repeated. The error still has the reason.
func TestReasonIsKept(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	ctx, giveUp := context.WithCancel(t.Context())
	w.restartWith(func() {
		w.wrap = func(next http.Handler) http.Handler {
			says := replyingHandler(wire.ProtocolVersion(), http.StatusOK, wire.Answer{Error: wire.FromError(noLeaderError())})(next)
			var asked atomic.Bool
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if !asked.Swap(true) {
					says.ServeHTTP(rw, r)
					return
				}
				giveUp()
				hangingHandler(next).ServeHTTP(rw, r)
			})
		}
	})
	_, err := mustNewClient(t, configForNodes(w.addClient("ci", allRights), w.addr, refusingAddress(t))).Region("mark").Rows(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(fmt.Sprint(err), "there is no leader (Start more nodes.)") {
		t.Errorf("got %v", err)
	}
}

// TestUnavailableOnce: a single service answers that it is unavailable. That is the answer,
// because there is no other node.
func TestUnavailableOnce(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	w.restartWith(func() { w.available = noLeaderError })
	_, err := w.connectClient("ci", allRights).Tag(boundedContext(t))
	wantRefusal(t, "It is told at once.", err, engine.ErrUnavailable, "there is no leader")
	if calls := len(w.requests()); calls != 1 {
		t.Errorf("it was asked %d times", calls)
	}
}

// TestThawedNode: a node hangs before it does a write, and later continues. It does not do the
// write: the client has asked another node, and the ledger has changed since.
func TestThawedNode(t *testing.T) {
	t.Parallel()
	const key = engine.Key("ci/web-1")
	frozen := newTestNode(t)
	thaw, thawed := make(chan struct{}), make(chan struct{})
	frozen.restartWith(func() {
		frozen.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				defer close(thawed)
				<-r.Context().Done()
				<-thaw
				next.ServeHTTP(rw, r)
			})
		}
	})
	good := frozen.addNode()
	config := frozen.addClient("ci", allRights)
	l := mustNewClient(t, configForNodes(config, good.addr)).Region("mark")
	place := func() {
		if _, fresh, err := l.Place(t.Context(), newReservation(t, l, key, 4)); err != nil || !fresh {
			t.Fatalf("fresh %t, %v", fresh, err)
		}
	}
	place()
	if err := mustNewClient(t, configForNodes(config, frozen.addr, good.addr)).Region("mark").MarkLeaving(boundedContext(t), key); err != nil {
		t.Fatal(err)
	}
	row, err := l.Row(t.Context(), key)
	if err != nil || row.State != engine.RowLeaving {
		t.Fatalf("got %+v, %v", row, err)
	}
	if err := l.Drop(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	place()
	close(thaw)
	<-thawed
	if row, err := l.Row(t.Context(), key); err != nil || row.State != engine.RowPending {
		t.Errorf("the row of a later run was touched: %+v, %v", row, err)
	}
}

// TestResentToAnotherNode loses the reply of one node to each write. The client sends the write
// to another node, which has the same ledger and does not know the call.
func TestResentToAnotherNode(t *testing.T) {
	t.Parallel()
	const key = engine.Key("ci/web-1")
	row, place, bind := rowSteps(key)
	leave := func(t *testing.T, l ledger.RegionLedger) {
		bind(t, l)
		if err := l.MarkLeaving(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	closing := engine.HostCloseRequest{HostKey: "h1", Holder: "me", Lease: time.Minute, Window: time.Minute}
	closed := func(t *testing.T, l ledger.RegionLedger) {
		if err := l.CloseHost(t.Context(), closing); err != nil {
			t.Fatal(err)
		}
	}
	mine := lease.Lease{Key: key, Holder: "a-holder-of-the-test", Session: "a-session-of-the-test"}
	cases := map[string]struct {
		before func(*testing.T, ledger.RegionLedger)
		write  func(*testing.T, ledger.RegionLedger) error
		done   string // content of the ledger afterwards, as in TestLostReplies
	}{
		"Place": {done: "1 rows, pending 1, +0", write: func(t *testing.T, l ledger.RegionLedger) error {
			made, fresh, err := l.Place(t.Context(), newReservation(t, l, key, 4))
			if !fresh || made.HostKey != "h1" {
				t.Errorf("the call that made the row is told %t, %+v", fresh, made)
			}
			return err
		}},
		"PlaceTheLast": {done: "1 rows, pending 1, +0", write: func(t *testing.T, l ledger.RegionLedger) error {
			_, fresh, err := l.Place(t.Context(), newReservation(t, l, key, 1))
			if !fresh {
				t.Error("its own row takes the room of the call that made it")
			}
			return err
		}},
		"Move": {done: "1 rows, pending 2, +1", before: place, write: func(t *testing.T, l ledger.RegionLedger) error {
			moved, fresh, err := l.Move(t.Context(), 2, newReservation(t, l, key, 4))
			if !fresh || moved.Attempt != 2 {
				t.Errorf("the call that moved the row is told %t, %+v", fresh, moved)
			}
			return err
		}},
		"Renew": {place, func(t *testing.T, l ledger.RegionLedger) error {
			before := row(t, l)
			err := l.Renew(t.Context(), before)
			if after := row(t, l); !after.Since.After(before.Since) || after.Token != before.Token {
				t.Errorf("it is not renewed: %+v", after)
			}
			return err
		}, "1 rows, pending 1, +0"},
		"Bind": {place, func(t *testing.T, l ledger.RegionLedger) error {
			r := row(t, l)
			r.SystemID = "abc123"
			return l.Bind(t.Context(), r)
		}, "1 rows, bound 1 abc123, +1"},
		"BindAnew": {nil, func(t *testing.T, l ledger.RegionLedger) error {
			return l.Bind(t.Context(), engine.Row{Key: key, HostKey: "h1", SystemID: "abc123"})
		}, "1 rows, bound 1 abc123, +1"},
		"Leaving": {bind, func(t *testing.T, l ledger.RegionLedger) error { return l.MarkLeaving(t.Context(), key) }, "1 rows, leaving 1 abc123, +1"},
		"Drop":    {leave, func(t *testing.T, l ledger.RegionLedger) error { return l.Drop(t.Context(), row(t, l)) }, "0 rows, +1"},
		"CloseHost": {nil, func(t *testing.T, l ledger.RegionLedger) error {
			return l.CloseHost(t.Context(), closing)
		}, "0 rows, +0, closed"},
		"Prolong":  {closed, func(t *testing.T, l ledger.RegionLedger) error { return l.CloseHost(t.Context(), closing) }, "0 rows, +0, closed"},
		"OpenHost": {closed, func(t *testing.T, l ledger.RegionLedger) error { return l.OpenHost(t.Context(), "h1", "me") }, "0 rows, +1"},
		"TakeLease": {nil, func(t *testing.T, l ledger.RegionLedger) error {
			have, err := remote.LeaseTableOf(l).TakeLease(t.Context(), mine, "")
			if have.Holder != mine.Holder {
				t.Errorf("the call that took the lease is told %+v", have)
			}
			return err
		}, "0 rows, +0, 1 leases"},
		"TakeDeadLease": {func(t *testing.T, l ledger.RegionLedger) {
			dead := mine
			dead.Holder = "a-dead-holder-of-the-test"
			if _, err := remote.LeaseTableOf(l).TakeLease(t.Context(), dead, ""); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, l ledger.RegionLedger) error {
			have, err := remote.LeaseTableOf(l).TakeLease(t.Context(), mine, "a-dead-holder-of-the-test")
			if have.Holder != mine.Holder {
				t.Errorf("the call that took the lease is told %+v", have)
			}
			return err
		}, "0 rows, +0, 1 leases"},
		"DropLease": {func(t *testing.T, l ledger.RegionLedger) {
			if _, err := remote.LeaseTableOf(l).TakeLease(t.Context(), mine, ""); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, l ledger.RegionLedger) error {
			return remote.LeaseTableOf(l).DropLease(t.Context(), key, mine.Holder)
		}, "0 rows, +0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newTestNode(t)
			var lost atomic.Int64
			var losing atomic.Bool
			first.restartWith(func() {
				first.wrap = func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
						if !isWrite(r) || !losing.Load() {
							next.ServeHTTP(rw, r)
							return
						}
						next.ServeHTTP(httptest.NewRecorder(), r)
						lost.Add(1)
						panic(http.ErrAbortHandler)
					})
				}
			})
			second := first.addNode()
			l := mustNewClient(t, configForNodes(first.addClient("ci", allRights), first.addr, second.addr)).Region("mark")
			if tc.before != nil {
				tc.before(t, l)
			}
			begun := first.sequence()
			losing.Store(true)
			if err := tc.write(t, l); err != nil {
				t.Errorf("got %v", err)
			}
			if got := second.summarizeLedger(begun); got != tc.done {
				t.Errorf("the ledger has %q, want %q", got, tc.done)
			}
			writes := 0
			for _, r := range second.requests() {
				if isWriteNamed(r.Operation) && r.Outcome == "ok" && !r.Resent {
					writes++
				}
			}
			if lost.Load() != 1 || writes != 1 {
				t.Errorf("the first node did %d writes and the second one %d, want one each", lost.Load(), writes)
			}
		})
	}
}

// isWriteNamed reports whether the operation of this name writes something.
func isWriteNamed(name string) bool {
	for _, o := range wire.Operations {
		if o.Name == name {
			return o.Writes
		}
	}
	return false
}
