package lxd

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/gorilla/websocket"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// watcherQueue is how many events can wait for a slow client. Further ones are lost.
const watcherQueue = 1024

// Watch starts to collect events for the client, if it has permission.
func (c *Call) Watch() (*world.Watcher, *rest.Reply) {
	c.World.Keeper.Lock()
	defer c.World.Keeper.Unlock()
	c.trust, c.trusted = daemon.FindTrustDER(c.LXD.Trusted, c.Client)
	if bad := c.checkAccess(AccessInProject); bad != nil {
		return nil, bad
	}
	t := &world.Watcher{Project: c.Project, Trust: c.trust, Queue: make(chan []byte, watcherQueue)}
	if c.wantsAllProjects() {
		t.Project = ""
	}
	if types := c.Query.Get("type"); types != "" {
		t.Types = strings.Split(types, ",")
	}
	c.LXD.Watchers[t] = true
	return t, nil
}

// StopWatching ends what Watch began.
func (c *Call) StopWatching(t *world.Watcher) {
	c.World.Keeper.Lock()
	defer c.World.Keeper.Unlock()
	delete(c.LXD.Watchers, t)
}

// SendEvents sends the queued events until the connection ends.
func SendEvents(t *world.Watcher, conn *websocket.Conn) {
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
		case text := <-t.Queue:
			if conn.WriteMessage(websocket.TextMessage, text) != nil {
				return
			}
		}
	}
}

// sendToWatchers sends the state of an operation to all watchers.
func sendToWatchers(l *world.LXD, o *world.Operation) {
	if len(l.Watchers) == 0 {
		return
	}
	event := api.Event{Type: api.EventTypeOperation, Timestamp: time.Now(), Metadata: json.RawMessage(rest.Encode(o.Operation)), Location: "none", Project: o.Project}
	text := rest.Encode(event)
	for t := range l.Watchers {
		if t.Project != "" && t.Project != o.Project || !t.Trust.AllowsProject(o.Project) || len(t.Types) > 0 && !slices.Contains(t.Types, event.Type) {
			continue
		}
		select {
		case t.Queue <- text:
		default:
		}
	}
}
