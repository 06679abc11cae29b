package remote_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// boundedContext limits a call that must fail soon, because a refused call is not repeated.
func boundedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// wantRefusal wants an error with a sentinel, a text and a hint.
func wantRefusal(t *testing.T, reason string, err, sentinel error, says string) {
	t.Helper()
	hint := ""
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		hint = refusal.Hint
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		hint = spec.Hint
	}
	if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), says) || hint == "" || strings.Contains(err.Error(), "PRIVATE") {
		t.Errorf("%s\ngot %v (%s)\nwant %q", reason, err, hint, says)
	}
}

// isWrite reports whether a request writes something.
func isWrite(r *http.Request) bool {
	return slices.ContainsFunc(wire.Operations, func(o wire.Operation) bool { return o.Writes && r.URL.Path == wire.PathPrefix+o.Name })
}

// replyLosingHandler is a service that loses the replies of some writes. It does the writes, and
// breaks the stream before it answers.
func replyLosingHandler(lose *atomic.Int64) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isWrite(r) || lose.Add(-1) < 0 {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
}

// TestLostReplies loses the reply to each kind of write. The service does each write once.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	const key = engine.Key("ci/web-1")
	row, place, bind := rowSteps(key)
	closed := engine.HostCloseRequest{HostKey: "h1", Holder: "me", Lease: time.Minute, Window: time.Minute}
	cases := map[string]struct {
		before func(*testing.T, ledger.RegionLedger)
		write  func(*testing.T, ledger.RegionLedger) error
		// done is the content of the ledger afterwards, and how much its sequence has grown. A
		// write that is done twice adds to it twice.
		done string
	}{
		"Place": {done: "1 rows, pending 1, +0", write: func(t *testing.T, l ledger.RegionLedger) error {
			_, fresh, err := l.Place(t.Context(), newReservation(t, l, key, 4))
			if !fresh {
				t.Error("the call that made the row is not told so")
			}
			return err
		}},
		"Move": {done: "1 rows, pending 2, +1", before: place, write: func(t *testing.T, l ledger.RegionLedger) error {
			_, fresh, err := l.Move(t.Context(), 2, newReservation(t, l, key, 4))
			if !fresh {
				t.Error("the call that moved the row is not told so")
			}
			return err
		}},
		"Renew": {place, func(t *testing.T, l ledger.RegionLedger) error { return l.Renew(t.Context(), row(t, l)) }, "1 rows, pending 1, +0"},
		"Bind": {place, func(t *testing.T, l ledger.RegionLedger) error {
			r := row(t, l)
			r.SystemID = "abc123"
			return l.Bind(t.Context(), r)
		}, "1 rows, bound 1 abc123, +1"},
		"Leaving": {bind, func(t *testing.T, l ledger.RegionLedger) error { return l.MarkLeaving(t.Context(), key) }, "1 rows, leaving 1 abc123, +1"},
		"Drop":    {bind, func(t *testing.T, l ledger.RegionLedger) error { return l.Drop(t.Context(), row(t, l)) }, "0 rows, +1"},
		"CloseHost": {done: "0 rows, +0, closed", write: func(t *testing.T, l ledger.RegionLedger) error {
			return l.CloseHost(t.Context(), closed)
		}},
		"OpenHost": {func(t *testing.T, l ledger.RegionLedger) {
			if err := l.CloseHost(t.Context(), closed); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, l ledger.RegionLedger) error { return l.OpenHost(t.Context(), "h1", "me") }, "0 rows, +1"},
		"TakeRegion": {bind, func(t *testing.T, l ledger.RegionLedger) error {
			return l.TakeOverRegion(t.Context(), "http://maas.example")
		}, "2 rows, bound 1 abc123, bound 1 old123, +1"},
		"Hold": {done: "0 rows, +0", write: func(t *testing.T, l ledger.RegionLedger) error {
			release, err := l.Hold(t.Context(), key)
			if err == nil {
				release()
			}
			return err
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lose atomic.Int64
			w := newTestNode(t)
			w.stop()
			w.wrap = replyLosingHandler(&lose)
			w.start()
			l := w.connectClient("ci", access.Rights{Regions: []string{"mark", "http://maas.example"}, Prefix: "ci/"}).Region("mark")
			if tc.before != nil {
				tc.before(t, l)
			}
			if name == "TakeRegion" {
				if err := w.rows.Region("http://maas.example").Bind(t.Context(), engine.Row{Key: "ci/web-2", HostKey: "h1", SystemID: "old123"}); err != nil {
					t.Fatal(err)
				}
			}
			begun := w.sequence()
			lose.Store(2)
			if err := tc.write(t, l); err != nil {
				t.Errorf("got %v", err)
			}
			if got := w.summarizeLedger(begun); got != tc.done {
				t.Errorf("the ledger has %q, want %q", got, tc.done)
			}
			resent := 0
			for _, r := range w.requests() {
				if r.Resent {
					resent++
				}
			}
			if resent == 0 {
				t.Error("no write was sent twice: this proves nothing")
			}
		})
	}
}

// sequence returns the present sequence of the ledger.
func (w *testNode) sequence() int64 {
	w.t.Helper()
	tag, err := w.rows.CurrentTag(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return tag.Sequence
}

// summarizeLedger describes the content of the ledger of "mark": its rows, what was added to its
// sequence, its leases, and whether h1 is closed.
func (w *testNode) summarizeLedger(begun int64) string {
	w.t.Helper()
	of := w.rows.Region("mark")
	rows, err := of.Rows(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	text := fmt.Sprintf("%d rows", len(rows))
	for _, row := range rows {
		text += strings.TrimSuffix(fmt.Sprintf(", %s %d %s", row.State, row.Attempt, row.SystemID), " ")
	}
	text += fmt.Sprintf(", +%d", w.sequence()-begun)
	leases, err := of.LeaseTable().Leases(w.t.Context(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	if len(leases) > 0 {
		text += fmt.Sprintf(", %d leases", len(leases))
	}
	if err := of.CloseHost(w.t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: "the test", Lease: time.Second}); err != nil {
		text += ", closed"
	}
	return text
}

// TestLostReplyAndMemory loses a reply, and then the service's cache of replies. The row still
// tells which call made it.
func TestLostReplyAndMemory(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	w.stop()
	var lost atomic.Bool
	restarted := make(chan struct{})
	w.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !isWrite(r) || !lost.CompareAndSwap(false, true) {
				next.ServeHTTP(rw, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.stop()
			w.start()
			close(restarted)
			panic(http.ErrAbortHandler)
		})
	}
	w.start()
	l := w.connectClient("ci", allRights).Region("mark")
	_, fresh, err := l.Place(t.Context(), newReservation(t, l, "ci/web-1", 4))
	<-restarted
	if err != nil || !fresh {
		t.Errorf("fresh %t, %v", fresh, err)
	}
}

// TestForbiddenCalls: a client without the right gets an error that says so, and nothing is written.
func TestForbiddenCalls(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	ci := w.connectClient("ci", access.Rights{Regions: []string{"mark"}, Prefix: "ci/"})
	mine, others := ci.Region("mark"), ci.Region("other")
	all := w.connectClient("all", allRights).Region("mark")
	reservation := newReservation(t, mine, "other/web-1", 4)
	if _, _, err := all.Place(t.Context(), reservation); err != nil {
		t.Fatal(err)
	}
	row, err := mine.Row(t.Context(), "other/web-1")
	if err != nil {
		t.Fatalf("the rows of others are read: %v", err)
	}
	const prefix, region = `may not write the row of "other/web-1"`, `may not use the region "other"`
	for name, tc := range map[string]struct {
		says string
		call func(context.Context) error
	}{
		"Place":   {prefix, func(ctx context.Context) error { _, _, err := mine.Place(ctx, reservation); return err }},
		"Move":    {prefix, func(ctx context.Context) error { _, _, err := mine.Move(ctx, 2, reservation); return err }},
		"Renew":   {prefix, func(ctx context.Context) error { return mine.Renew(ctx, row) }},
		"Bind":    {prefix, func(ctx context.Context) error { r := row; r.SystemID = "abc"; return mine.Bind(ctx, r) }},
		"Leaving": {prefix, func(ctx context.Context) error { return mine.MarkLeaving(ctx, row.Key) }},
		"Drop":    {prefix, func(ctx context.Context) error { return mine.Drop(ctx, row) }},
		"May":     {prefix, func(ctx context.Context) error { return mine.MayWrite(ctx, row.Key) }},
		"Hold":    {prefix, func(ctx context.Context) error { _, err := mine.Hold(ctx, row.Key); return err }},
		"Except": {prefix, func(ctx context.Context) error {
			return mine.CloseHost(ctx, engine.HostCloseRequest{HostKey: "h1", Except: row.Key})
		}},
		"CutOff":    {`may not write the row of ""`, func(ctx context.Context) error { _, err := mine.ListCutOff(ctx, ""); return err }},
		"Rows":      {region, func(ctx context.Context) error { _, err := others.Rows(ctx); return err }},
		"Pending":   {region, func(ctx context.Context) error { _, err := others.PendingRows(ctx); return err }},
		"Row":       {region, func(ctx context.Context) error { _, err := others.Row(ctx, "ci/web-1"); return err }},
		"CloseHost": {region, func(ctx context.Context) error { return others.CloseHost(ctx, engine.HostCloseRequest{HostKey: "h1"}) }},
		"OpenHost":  {region, func(ctx context.Context) error { return others.OpenHost(ctx, "h1", "") }},
	} {
		err := tc.call(boundedContext(t))
		wantRefusal(t, name, err, engine.ErrForbidden, tc.says)
	}
	if rows, err := all.Rows(t.Context()); err != nil || len(rows) != 1 || rows[0].Token != row.Token || rows[0].State != engine.RowPending {
		t.Errorf("something was written: %+v, %v", rows, err)
	}
	if err := mine.MayWrite(t.Context(), "ci/web-1"); err != nil {
		t.Errorf("its own row: %v", err)
	}
	if err := mine.TakeOverRegion(t.Context(), "other"); err != nil {
		t.Errorf("there is nothing of its own in a region that it may not use: %v", err)
	}
	if rows, err := all.Rows(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("others' rows were taken: %+v, %v", rows, err)
	}
	if _, err := ci.Tag(t.Context()); err != nil {
		t.Errorf("the tag is everybody's: %v", err)
	}
}

// TestHolderOfAHostClose: a client continues its own close. It neither continues nor ends another client's
// close, even with the same holder.
func TestHolderOfAHostClose(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	a, b := w.connectClient("a", allRights).Region("mark"), w.connectClient("b", allRights).Region("mark")
	closing := engine.HostCloseRequest{HostKey: "h1", Holder: "same", Lease: time.Minute, Window: time.Minute}
	if err := a.CloseHost(t.Context(), closing); err != nil {
		t.Fatal(err)
	}
	if err := b.CloseHost(t.Context(), closing); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("two have one host closed: %v", err)
	}
	if err := b.OpenHost(t.Context(), "h1", "same"); err != nil {
		t.Errorf("what is not closed by it is no error: %v", err)
	}
	if _, _, err := b.Place(t.Context(), newReservation(t, b, "ci/web-1", 4)); !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "removed or changed") {
		t.Errorf("the host is not closed any more: %v", err)
	}
	if err := a.CloseHost(t.Context(), closing); err != nil {
		t.Errorf("it prolongs its own close: %v", err)
	}
	if err := a.OpenHost(t.Context(), "h1", "same"); err != nil {
		t.Fatal(err)
	}
	if _, fresh, err := b.Place(t.Context(), newReservation(t, b, "ci/web-1", 4)); err != nil || !fresh {
		t.Errorf("the host is open: %t, %v", fresh, err)
	}
}

// TestCertificateErrors: errors say what is wrong with the certificate of either side.
func TestCertificateErrors(t *testing.T) {
	t.Parallel()
	w, stranger := newTestNode(t), newTestNode(t)
	good := w.addClient("ci", allRights)
	wrongCA := good
	wrongCA.CA = stranger.authority.Certificate
	foreign := stranger.addClient("ci", allRights)
	foreign.Address, foreign.CA = good.Address, good.CA
	wrongName := good
	wrongName.Address = strings.Replace(good.Address, "127.0.0.1", "localhost", 1)
	for name, tc := range map[string]struct {
		config remote.Config
		says   string
	}{
		"WrongCA":   {wrongCA, `signed by "CN=maaslxd ledger `},
		"Foreign":   {foreign, "is not signed by an authority of this ledger service"},
		"WrongName": {wrongName, "is not trusted"},
	} {
		_, err := mustNewClient(t, tc.config).Check(boundedContext(t))
		wantRefusal(t, name, err, engine.ErrForbidden, tc.says)
	}
}

// TestRevokedClient revokes a client while its connection is open.
func TestRevokedClient(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	client := w.connectClient("ci", allRights)
	who, err := client.Check(t.Context())
	if err != nil || who.Name != "ci" || who.Service != "test" {
		t.Fatalf("got %+v, %v", who, err)
	}
	if _, err := w.clients.Revoke(t.Context(), "ci", time.Now()); err != nil {
		t.Fatal(err)
	}
	_, err = client.Tag(boundedContext(t))
	wantRefusal(t, "The next request is refused.", err, engine.ErrForbidden, "client ci was revoked on")
}

// TestRenewedFiles renews the certificate of a connected client. While only one of its files is
// new, nothing changes.
func TestRenewedFiles(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	one, two := w.addClient("one", allRights), w.addClient("two", allRights)
	folder := t.TempDir()
	one.Files = remote.Files{Certificate: filepath.Join(folder, "tls.crt"), Key: filepath.Join(folder, "tls.key")}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one.Files.Certificate, one.Certificate)
	write(one.Files.Key, one.Key)
	client := mustNewClient(t, one)
	for _, step := range []struct {
		reason string
		change func()
		want   string
	}{
		{"Nothing has changed.", func() {}, "one"},
		{"The key is still the former one.", func() { write(one.Files.Certificate, two.Certificate) }, "one"},
		{"Both are there.", func() { write(one.Files.Key, two.Key) }, "two"},
		{"A file that is gone changes nothing.", func() {
			if err := os.Remove(one.Files.Key); err != nil {
				t.Fatal(err)
			}
		}, "two"},
	} {
		step.change()
		client.ExpireFilesRead()
		if who, err := client.Check(t.Context()); err != nil || who.Name != step.want {
			t.Errorf("%s\ngot %+v, %v, want %s", step.reason, who, err, step.want)
		}
	}
}

// TestExpiredCertificate lets a certificate expire while its connection is open.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	var later atomic.Int64
	w.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	client := w.connectClient("ci", allRights)
	if _, err := client.Tag(t.Context()); err != nil {
		t.Fatal(err)
	}
	later.Store(int64(2 * time.Hour))
	_, err := client.Tag(boundedContext(t))
	wantRefusal(t, "The next request is refused.", err, engine.ErrForbidden, "client ci expired on")
}

// TestNoLedger calls servers that are no ledger. The error says what answered.
func TestNoLedger(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	config := w.addClient("ci", allRights)
	pair, err := w.authority.IssueServer([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	hello := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Server", "nginx")
		_, _ = rw.Write([]byte("<html>"))
	})
	plain := httptest.NewServer(hello)
	defer plain.Close()
	other := httptest.NewUnstartedServer(hello)
	other.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	other.StartTLS()
	defer other.Close()
	for name, tc := range map[string]struct{ address, says string }{
		"PlainHTTP": {strings.Replace(plain.URL, "http://", "https://", 1), "plain HTTP answers there"},
		"NoTLS":     {"https://" + sshServerAddress(t), "does not speak TLS"},
		"OtherTLS":  {other.URL, "the server there is not a ledger service (HTTP 200 OK, server nginx"},
	} {
		c := config
		c.Address = tc.address
		_, err := mustNewClient(t, c).Check(boundedContext(t))
		wantRefusal(t, name, err, engine.ErrInvalid, tc.says)
	}
}

// sshServerAddress returns the address of a server that speaks another protocol.
func sshServerAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
			_, _ = conn.Read(make([]byte, 1024))
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

// TestProtocolVersions: the client recognises a service of another protocol, whatever it answers.
func TestProtocolVersions(t *testing.T) {
	t.Parallel()
	for theirs, says := range map[string]string{
		"2 abcdef": "is newer than this program", "0 abcdef": "is older than this program", "1 abcdef": "is another build than this program",
	} {
		w := newTestNode(t)
		w.stop()
		w.wrap = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set(wire.HeaderProtocol, theirs)
				rw.WriteHeader(http.StatusTeapot)
			})
		}
		w.start()
		_, err := w.connectClient("ci", allRights).Tag(boundedContext(t))
		wantRefusal(t, theirs, err, engine.ErrConflict, says)
	}
}

// TestNewerClient: the service tells a client of another protocol which side is newer.
func TestNewerClient(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	w.stop()
	w.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			r.Header.Set(wire.HeaderProtocol, "2 abcdef")
			next.ServeHTTP(rw, r)
		})
	}
	w.start()
	_, err := w.connectClient("ci", allRights).Tag(boundedContext(t))
	wantRefusal(t, "An old service serves no new client.", err, engine.ErrConflict, "the client is newer than the ledger service")
}

// TestCallEndsWithItsDeadline: a call ends with its caller's time, on both sides.
func TestCallEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	w.stop()
	told := make(chan string, 100)
	w.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == wire.PathPrefix+wire.OpTag.Name {
				next.ServeHTTP(rw, r)
				return
			}
			told <- r.Header.Get(wire.HeaderTimeout)
			<-r.Context().Done()
		})
	}
	w.start()
	l := w.connectClient("ci", allRights).Region("mark")
	if _, err := l.CurrentTag(boundedContext(t)); err != nil { // this opens the connection
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	began := time.Now()
	err := l.MarkLeaving(ctx, "ci/web-1")
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
		t.Errorf("got %v after %s", err, took)
	}
	select {
	case ms := <-told:
		if len(ms) == 0 || len(ms) > 4 {
			t.Errorf("the service was told of %q ms", ms)
		}
	default:
		t.Error("the service was not asked")
	}
}

// TestUnreachableService: without the service, nothing is placed.
func TestUnreachableService(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	l := w.connectClient("ci", allRights).Region("mark")
	reservation := newReservation(t, l, "ci/web-1", 4)
	w.stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, fresh, err := l.Place(ctx, reservation); fresh || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("placed: %t, %v", fresh, err)
	}
	w.start()
}

// TestServiceIsAway calls a service that is away, for 200 VMs. One call tries until it gives up, and the
// others fail at once. When the service is back, a call soon finds it.
func TestServiceIsAway(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	l := w.connectClient("ci", allRights).Region("mark")
	w.stop()
	short, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if _, err := l.CurrentTag(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	began, before := time.Now(), w.countConnections()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			_, err := l.ListCutOff(t.Context(), "ci/")
			away, ok := errors.AsType[*engine.LedgerError](err)
			if !ok || away.Ledger != "https://"+w.addr || !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "cannot be reached") {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if took, knocks := time.Since(began), w.countConnections()-before; took > 3*time.Second || knocks > 2 {
		t.Errorf("200 calls took %s and %d connections", took, knocks)
	}
	w.start()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, err := l.CurrentTag(t.Context())
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestAwayTogether lets calls wait for a service at the same time. They give up at the same
// time.
func TestAwayTogether(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	client := w.connectClient("ci", allRights)
	w.stop()
	waiting := make(chan time.Duration, 1)
	began := time.Now()
	go func() {
		_, err := client.Tag(t.Context())
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		waiting <- time.Since(began)
	}()
	time.Sleep(4 * time.Second)
	short, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if _, err := client.Region("mark").PendingRows(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := <-waiting; took > 15*time.Second {
		t.Errorf("it waited for %s more after another call had given up", took)
	}
	w.start()
}

// TestRestartedService restarts the service between two calls, and during a call.
func TestRestartedService(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	l := w.connectClient("ci", allRights).Region("mark")
	reservation := newReservation(t, l, "ci/web-1", 4)
	w.stop()
	var again sync.WaitGroup
	again.Go(func() {
		time.Sleep(300 * time.Millisecond)
		w.start()
	})
	_, _, err := l.Place(t.Context(), reservation)
	again.Wait()
	if !errors.Is(err, engine.ErrBusy) {
		t.Errorf("the inventory is from before: %v", err)
	}
	if _, fresh, err := l.Place(t.Context(), newReservation(t, l, "ci/web-1", 4)); err != nil || !fresh {
		t.Errorf("fresh %t, %v", fresh, err)
	}
}

// TestManyClientsPlaceAtOnce lets 32 clients place at once. There is room for ten.
func TestManyClientsPlaceAtOnce(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	const writers, room = 32, 10
	config := w.addClient("ci", allRights)
	first := mustNewClient(t, config).Region("mark")
	reservation := newReservation(t, first, "", room)
	var all sync.WaitGroup
	var placed, busy atomic.Int64
	for n := range writers {
		l := mustNewClient(t, config).Region("mark")
		all.Go(func() {
			r := reservation
			r.Key = engine.Key("ci/web-" + string(rune('A'+n)))
			switch _, fresh, err := l.Place(t.Context(), r); {
			case err == nil && fresh:
				placed.Add(1)
			case errors.Is(err, engine.ErrBusy):
				busy.Add(1)
			default:
				t.Errorf("fresh %t, %v", fresh, err)
			}
		})
	}
	all.Wait()
	if placed.Load() != room || busy.Load() != writers-room {
		t.Errorf("%d placed and %d wait, want %d and %d", placed.Load(), busy.Load(), room, writers-room)
	}
}

// countConnections returns how many connections were opened.
func (w *testNode) countConnections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connections
}

// TestInvalidConfig: an invalid configuration is refused before anything is sent.
func TestInvalidConfig(t *testing.T) {
	t.Parallel()
	w := newTestNode(t)
	good := w.addClient("ci", allRights)
	other := w.addClient("other", allRights)
	old, key, err := w.authority.IssueClient("old", time.Now(), -time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*remote.Config)
		says   string
	}{
		"Plain":         {func(c *remote.Config) { c.Address = "http://ledger.example" }, "ledger: begins with http://"},
		"NoScheme":      {func(c *remote.Config) { c.Address = "ledger.example:7443" }, "ledger: does not begin with https://"},
		"Path":          {func(c *remote.Config) { c.Address += "/x" }, "ledger: has something after"},
		"User":          {func(c *remote.Config) { c.Address = "https://a:b@c" }, "ledger: holds a user"},
		"NoHost":        {func(c *remote.Config) { c.Address = "https://:7443" }, "ledger: names no host"},
		"Empty":         {func(c *remote.Config) { c.Address += "," }, "ledger: has an entry 2 that is empty"},
		"Twice":         {func(c *remote.Config) { c.Address = "https://a,https://A:443" }, "ledger: has an entry 2, https://A:443, that names a node a second time"},
		"PlainNode":     {func(c *remote.Config) { c.Address += ",http://b:7443" }, "ledger: has an entry 2, http://b:7443, that begins with http://"},
		"FileNode":      {func(c *remote.Config) { c.Address += ",/tmp/ledger.db" }, "ledger: has an entry 2, /tmp/ledger.db, that does not begin with https://"},
		"NodesAlone":    {func(c *remote.Config) { c.Address = "a:7443,b:7443" }, "ledger: has an entry 1, a:7443, that does not begin with https://"},
		"NodePath":      {func(c *remote.Config) { c.Address = "https://b/x, " + c.Address }, "ledger: has an entry 1, https://b/x, that has something after"},
		"NodeUser":      {func(c *remote.Config) { c.Address += ",https://a:PRIVATE@c" }, "ledger: has an entry 2 that holds a user"},
		"NoCA":          {func(c *remote.Config) { c.CA = "x" }, "ledger_ca: holds no certificate"},
		"NoCertificate": {func(c *remote.Config) { c.Certificate = "" }, "ledger_cert: is missing"},
		"NoKey":         {func(c *remote.Config) { c.Key = "" }, "ledger_key: is missing"},
		"OtherKey":      {func(c *remote.Config) { c.Key = other.Key }, "ledger_key: is not the private key"},
		"Expired":       {func(c *remote.Config) { c.Certificate, c.Key = string(old), string(key) }, "ledger_cert: expired on"},
	} {
		c := good
		tc.change(&c)
		if !remote.IsAddress(c.Address) {
			t.Errorf("%s: %s would be a file", name, c.Address)
		}
		_, err := remote.New(c)
		wantRefusal(t, name, err, engine.ErrInvalid, tc.says)
	}
}

// TestIsAddress distinguishes addresses from paths.
func TestIsAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://a:7443": true, "https://a:7443,https://b:7443": true, "https://a, https://b": true, "a:7443": true,
		"a:7443,b:7443": true, "a:7443,b": true, "a,https://b": true,
		"ledger.db": false, "/tmp/a,b:1": false, "a,b": false, `C:\a,b:1`: false,
	} {
		if got := remote.IsAddress(text); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
	}
}
