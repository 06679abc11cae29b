package sim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/gorilla/websocket"
)

// watcher is a client that listens to an LXD's events.
type watcher struct {
	project string // empty: all
	types   []string
	trust   trust
	queue   chan []byte
}

// watcherQueue is how many events wait for a slow client; more are lost.
const watcherQueue = 1024

func isLXDEvents(r *http.Request) bool { return strings.Trim(r.URL.Path, "/") == "1.0/events" }

// watch sends the LXD's events over a websocket until the client goes.
func (e *endpoint) watch(rw http.ResponseWriter, r *http.Request) {
	s := e.sim
	c, _, plan := s.beginLXD(e.lxd, r, nil)
	err := c.wait(plan)
	if err == nil && plan.before != nil {
		var rep reply
		if rep, err = s.breakCall(r.Context(), &call{w: c.w, lxd: true}, plan, plan.before); err == nil {
			writeReply(rw, rep, r.Method)
			return
		}
	} else if err != nil {
		s.journal.lost(s, plan.entry)
	}
	if err != nil {
		breakConnection(rw, err)
		return
	}
	watcher, bad := c.watcher(s)
	if bad != nil {
		s.journal.answered(s, plan.entry, *bad)
		writeReply(rw, *bad, r.Method)
		return
	}
	defer c.forget(watcher)
	conn, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(rw, r, nil)
	if err != nil { // it has answered
		s.journal.answered(s, plan.entry, lxdBad("%v", err))
		return
	}
	s.journal.answered(s, plan.entry, reply{status: http.StatusSwitchingProtocols})
	watcher.send(conn)
}

// watcher begins to listen, if the client may.
func (c *lxdCall) watcher(s *Sim) (*watcher, *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.trust, c.trusted = c.l.trustingDER(c.client)
	if bad := c.admit(lxdInProject); bad != nil {
		return nil, bad
	}
	t := &watcher{project: c.project, trust: c.trust, queue: make(chan []byte, watcherQueue)}
	if c.everything() {
		t.project = ""
	}
	if types := c.query.Get("type"); types != "" {
		t.types = strings.Split(types, ",")
	}
	c.l.watchers[t] = true
	return t, nil
}

func (c *lxdCall) forget(t *watcher) {
	c.w.sim.mu.Lock()
	defer c.w.sim.mu.Unlock()
	delete(c.l.watchers, t)
}

// send writes what is queued until the connection ends.
func (t *watcher) send(conn *websocket.Conn) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	defer func() { _ = conn.Close(); <-gone }()
	for {
		select {
		case <-gone:
			return
		case text := <-t.queue:
			if conn.WriteMessage(websocket.TextMessage, text) != nil {
				return
			}
		}
	}
}

// tell sends an operation's state to those who listen.
func (l *lxdServer) tell(o *operation) {
	if len(l.watchers) == 0 {
		return
	}
	event := api.Event{Type: api.EventTypeOperation, Timestamp: time.Now(), Metadata: json.RawMessage(encode(o.Operation)), Location: "none", Project: o.project}
	text := encode(event)
	for t := range l.watchers {
		if t.project != "" && t.project != o.project || !t.trust.allows(o.project) || len(t.types) > 0 && !slices.Contains(t.types, event.Type) {
			continue
		}
		select {
		case t.queue <- text:
		default:
		}
	}
}
