package service

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// TestBoundsOfACall: calls that no client of ours sends are refused before they reach the ledger.
func TestBoundsOfACall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxNameBytes+1)
	row := func(change func(*engine.Row)) wire.Call {
		r := engine.Row{Key: "ci/web-1", HostKey: "h1", SystemID: "abc123"}
		change(&r)
		return wire.Call{Region: "mark", Row: &r}
	}
	closing := func(lease, window time.Duration) wire.Call {
		return wire.Call{Region: "mark", Close: &engine.HostCloseRequest{HostKey: "h1", Holder: "me", Lease: lease, Window: window}}
	}
	for name, tc := range map[string]struct {
		reason    string
		operation wire.Operation
		call      wire.Call
		says      string
	}{
		"Name":     {"It would be kept for as long as the VM is there.", wire.OpBind, row(func(r *engine.Row) { r.Name = long }), "1025 bytes long"},
		"Excluded": {"A text in a list counts, too.", wire.OpBind, row(func(r *engine.Row) { r.Excluded = []string{"h1", long} }), "1025 bytes long"},
		"Pool":     {"And the key of a map.", wire.OpBind, row(func(r *engine.Row) { r.Need.DiskBytes = map[string]int64{long: 1} }), "1025 bytes long"},
		"Holder":   {"And of a lease.", wire.OpDropLease, wire.Call{Region: "mark", Key: "ci/web-1", Holder: long}, "1025 bytes long"},
		"Forever":  {"A host would stay closed.", wire.OpCloseHost, closing(engine.MaxCloseLease+1, time.Minute), "cannot be closed for"},
		"Never":    {"It closes nothing.", wire.OpCloseHost, closing(0, time.Minute), "cannot be closed for"},
		"Window":   {"What is composed would not count.", wire.OpCloseHost, closing(time.Minute, -1), "cannot be closed for"},
	} {
		d := newTestService(t)
		status, answer := d.sendCall(t, tc.operation, tc.call, nil)
		if status != http.StatusBadRequest || answer.Error == nil || !strings.Contains(answer.Error.Message, tc.says) || len(answer.Error.Message) > 500 {
			t.Errorf("%s: %s\ngot %d, %+v", name, tc.reason, status, answer.Error)
		}
		if rows, err := d.Ledger.Region("mark").Rows(t.Context()); err != nil || len(rows) != 0 {
			t.Errorf("%s: something was written: %v, %v", name, rows, err)
		}
	}
	if status, answer := newTestService(t).sendCall(t, wire.OpCloseHost, closing(engine.MaxCloseLease, time.Hour), nil); status != http.StatusOK {
		t.Errorf("the longest close that there is: %d, %+v", status, answer.Error)
	}
}

// TestSlowClientBlocksNoOther: one client sends no bodies, and so uses up its turns. No other client waits for it.
func TestSlowClientBlocksNoOther(t *testing.T) {
	t.Parallel()
	d := newTestService(t)
	body, slow := io.Pipe()
	t.Cleanup(func() { slow.Close() })
	var stuck sync.WaitGroup
	for range maxRequestsPerClient {
		stuck.Go(func() {
			d.sendCall(t, wire.OpTag, wire.Call{}, func(r *http.Request) { r.Body = body })
		})
	}
	taken := func() int {
		d.turns.mu.Lock()
		defer d.turns.mu.Unlock()
		return len(d.turns.byClient["ci"])
	}
	for deadline := time.Now().Add(time.Minute); taken() < maxRequestsPerClient; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d turns are taken", taken())
		}
	}
	status, answer := d.sendCall(t, wire.OpTag, wire.Call{}, func(r *http.Request) { r.Header.Set(wire.HeaderTimeout, "50") })
	if status != http.StatusGatewayTimeout || answer.Error == nil || answer.Error.IsFinal() {
		t.Errorf("one more waits until its time is over, and may be sent again: %d, %+v", status, answer.Error)
	}
	giveBack, err := d.turns.waitForTurn(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	giveBack()
	if err := slow.CloseWithError(errors.New("the client has gone")); err != nil {
		t.Fatal(err)
	}
	stuck.Wait()
	if status, answer := d.sendCall(t, wire.OpTag, wire.Call{}, nil); status != http.StatusOK {
		t.Errorf("a turn is free again: %d, %+v", status, answer.Error)
	}
}

// TestConnectionLimit: further connections of one address are closed. They are accepted again when one has
// ended.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &limitedListener{Listener: inner, maxPerAddress: 2, maxTotal: 10, byAddress: map[string]int{}}
	t.Cleanup(func() { l.Close() })
	conns := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello"))
			conns <- conn
		}
	}()
	// dial reports whether the listener accepted a connection.
	dial := func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		text := make([]byte, 5)
		_, err = io.ReadFull(conn, text)
		return err == nil && bytes.Equal(text, []byte("hello"))
	}
	if first, second, third := dial(), dial(), dial(); !first || !second || third {
		t.Error("want two connections, and no third one")
	}
	first := <-conns
	for range 2 { // a second Close does not count
		_ = first.Close()
	}
	if !dial() || dial() {
		t.Error("one has ended, so one more is let in")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total != 2 {
		t.Errorf("%d are counted", l.total)
	}
	all := &limitedListener{maxPerAddress: 5, maxTotal: 2, byAddress: map[string]int{}}
	if !all.addConns("a", 1) || !all.addConns("b", 1) || all.addConns("c", 1) {
		t.Error("the sum of all is bounded, too")
	}
}
