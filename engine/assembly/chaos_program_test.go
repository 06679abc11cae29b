package assembly_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// programRun is one run of an owner's program, from its start to its end or death.
type programRun struct {
	s           *schedule
	owner       *owner
	name        string
	undisturbed bool // nothing breaks
	engine      *assembly.Engine
	ctx         context.Context
	cancel      context.CancelFunc
	dead        atomic.Bool
	died        atomic.Int64 // when, by the clock of the schedule
	edition     int          // of its ledger
	hangUp      func() error // ends the connections to its ledger; nil: there are none

	mu         sync.Mutex
	callCounts map[string]int // how often it did what
}

func (l *programRun) startEngine(t *testing.T, b *chaosLedger) {
	l.ctx, l.cancel = context.WithCancel(t.Context())
	rows, edition := b.lend(l)
	l.edition = edition
	book := crashableLedger{rows, l}
	client, err := maas.New(maas.Config{
		URL: "http://maas.example/MAAS", APIKey: l.s.sim.APIKey(), Transport: l, Ledger: book, Rand: alwaysHalf,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.engine, err = assembly.New(engine.Config{
		Machines: client.Machines, Composer: client.Hosts, Names: client.Names, Catalog: client.Catalog, Metal: client.Machines, Registrar: client.Hosts, Ledger: book,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (l *programRun) end() {
	l.cancel()
	l.owner.ledger.giveBack(l)
	if l.hangUp != nil {
		l.s.checkNoError(l.hangUp())
	}
}

// crash ends the program where it stands.
func (l *programRun) crash(when string) {
	l.died.CompareAndSwap(0, time.Now().UnixNano())
	if l.dead.Swap(true) {
		return
	}
	l.s.note(l.name, "dies %s", when)
	l.s.witness.count(func(f *figures) { f.deaths++ })
	l.cancel()
}

// newDice dices for what the program does now.
func (l *programRun) newDice(what string) *rand.Rand {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callCounts[what]++
	return l.s.newDice(l.name, what, l.callCounts[what])
}

// route is a call for people: "POST vm-hosts/1/?op=compose".
func route(r *http.Request) string {
	return r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/MAAS/api/2.0/")
}

// RoundTrip implements http.RoundTripper: it passes the call on to MAAS, if
// nothing nasty comes in between.
func (l *programRun) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.dead.Load() {
		return nil, context.Canceled
	}
	body, err := readAll(r.Body)
	if err != nil {
		return nil, err
	}
	c := &exchange{life: l, request: r, body: body, route: route(r), dice: l.newDice(route(r) + "?" + string(body))}
	return c.run()
}

func readAll(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	defer body.Close()
	return io.ReadAll(body)
}

// exchange is one call of a program.
type exchange struct {
	life     *programRun
	request  *http.Request
	body     []byte
	route    string
	dice     *rand.Rand
	brokenBy *breakage // what goes wrong with it; nil: nothing
}

// survivableCallBreakages are the ways in which a call goes wrong.
var survivableCallBreakages = []breakage{
	{name: "503", breaks: answer503},
	{name: "503 after the effect", after: true, breaks: answer503},
	{name: "reset", breaks: resetConnection},
	{name: "lost reply", after: true, breaks: resetConnection},
	{name: "hang", breaks: hangUntilCancelled},
	{name: "hang after the effect", after: true, breaks: hangUntilCancelled},
}

// chooseBreakage chooses what goes wrong with the call; nil: nothing.
func (c *exchange) chooseBreakage() *breakage {
	luck, w := c.dice.Float64(), c.life.s.disturbances
	switch {
	case c.life.undisturbed:
		return nil
	case luck < w.death:
		b := pickRandom(c.dice, deadlyBreakages...)
		return &b
	case luck < w.death+w.broken:
		b := pickRandom(c.dice, survivableCallBreakages...)
		return &b
	}
	return nil
}

func (c *exchange) run() (*http.Response, error) {
	fate := c.chooseBreakage()
	c.brokenBy = fate
	if fate == nil {
		return c.send(c.request.Context())
	}
	c.life.s.note(c.life.name, "%s of %s", fate.name, c.route)
	if !fate.deadly {
		c.life.s.witness.count(func(f *figures) { f.broken++ })
	}
	if fate.underWay {
		gone := time.Duration(1+c.dice.IntN(600)) * time.Millisecond
		go c.send(context.WithoutCancel(c.request.Context())) //nolint:errcheck // MAAS finishes the call for nobody
		time.Sleep(gone)
	}
	if fate.after {
		if _, err := c.send(c.request.Context()); err != nil {
			return nil, err
		}
	}
	return fate.breaks(c.request, func() { c.life.crash("at " + c.route) })
}

// send lets MAAS do what it is asked for, each in its nasty way.
func (c *exchange) send(ctx context.Context) (*http.Response, error) {
	if c.life.dead.Load() && ctx == c.request.Context() {
		return nil, context.Canceled
	}
	switch {
	case c.request.Method == http.MethodGet:
		res, err := c.forward(ctx)
		if err == nil && c.brokenBy == nil {
			c.life.s.witness.noteLookup(c.life, c.request.URL.Query()["hostname"])
		}
		return res, err
	case c.request.URL.Query().Get("op") == "compose":
		return c.compose(ctx)
	case c.request.Method == http.MethodDelete:
		return c.remove(ctx)
	}
	c.life.s.witness.checkChange(c)
	res, err := c.forward(ctx)
	c.note(res, err)
	c.life.s.witness.observeLXDs()
	return res, err
}

func (c *exchange) note(res *http.Response, err error) {
	if err != nil {
		c.life.s.note(c.life.name, "%s: %v", c.route, err)
		return
	}
	c.life.s.note(c.life.name, "%s: %d", c.route, res.StatusCode)
}

func (c *exchange) forward(ctx context.Context) (*http.Response, error) {
	r := c.request.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(c.body))
	return c.life.s.sim.RoundTripper().RoundTrip(r)
}

// compose may be late, as MAAS is at it for up to two minutes, whoever waits
// for it; and LXD may go away once it has made the instance.
func (c *exchange) compose(ctx context.Context) (*http.Response, error) {
	w := c.life.s.disturbances
	late, leak := time.Duration(0), false
	var broken <-chan time.Time // when the connection breaks; MAAS goes on
	if !c.life.undisturbed {
		if c.dice.Float64() < w.late {
			late = time.Duration(c.dice.IntN(115_000)) * time.Millisecond
			if c.dice.IntN(2) == 0 {
				broken = time.After(time.Duration(c.dice.IntN(10_000)) * time.Millisecond)
			}
		}
		leak = c.dice.Float64() < w.leak
	}
	asked := c.life.s.witness.noteCompose(c)
	c.life.s.note(c.life.name, "%s of %s, late by %s, leaks: %t", c.route, asked.name, late, leak)
	type outcome struct {
		res *http.Response
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		time.Sleep(late)
		if leak {
			c.life.s.makeLXDUnreachable(asked.host, c.life.s.model.Latency.Compose/2-10*time.Millisecond, 200*time.Millisecond)
		}
		c.life.s.witness.noteComposeSent(asked)
		res, err := c.forward(context.WithoutCancel(ctx))
		c.life.s.witness.noteAnswer(asked, res, err)
		done <- outcome{res, err}
	}()
	select {
	case o := <-done:
		c.note(o.res, o.err)
		if o.err == nil && c.brokenBy == nil {
			c.life.s.witness.noteAnswerReceived(asked)
		}
		return o.res, o.err
	case <-broken:
		c.life.s.note(c.life.name, "%s: the connection breaks, MAAS goes on", c.route)
		return nil, errReset
	case <-ctx.Done():
		c.life.s.note(c.life.name, "%s: nobody waits any more", c.route)
		return nil, ctx.Err()
	}
}

// remove may find LXD away, and answers 204 all the same.
func (c *exchange) remove(ctx context.Context) (*http.Response, error) {
	c.life.s.witness.checkChange(c)
	host := c.life.s.witness.hostOf(c.request.URL.Path)
	kept := !c.life.undisturbed && host != "" && c.dice.Float64() < c.life.s.disturbances.keep
	if kept {
		c.life.s.note(c.life.name, "LXD of %s will be away during the delete", host)
		c.life.s.makeLXDUnreachable(host, 100*time.Millisecond, 100*time.Millisecond)
	}
	res, err := c.forward(context.WithoutCancel(ctx))
	c.note(res, err)
	c.life.s.witness.observeLXDs()
	return res, err
}
