package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func isLXDEvents(r *http.Request) bool { return strings.Trim(r.URL.Path, "/") == "1.0/events" }

// serveEvents sends the LXD's events over a websocket until the client disconnects.
func (e *endpoint) serveEvents(rw http.ResponseWriter, r *http.Request) {
	s := e.group
	c, _, plan := s.beginLXDCall(e.lxd, r, nil)
	err := waitForLXD(c, plan)
	if err == nil && plan.before != nil {
		var rep rest.Reply
		if rep, err = s.journal.breakCall(r.Context(), &request.Call{World: c.World, LXD: true}, plan, plan.before); err == nil {
			writeReply(rw, rep, r.Method)
			return
		}
	} else if err != nil {
		s.journal.noteLostCall(plan.entry)
	}
	if err != nil {
		breakConnection(rw, err)
		return
	}
	watcher, bad := c.Watch()
	if bad != nil {
		s.journal.noteAnswer(plan.entry, *bad)
		writeReply(rw, *bad, r.Method)
		return
	}
	defer c.StopWatching(watcher)
	conn, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(rw, r, nil)
	if err != nil { // the upgrade has answered with an error
		s.journal.noteAnswer(plan.entry, lxd.BadRequestReply("%v", err))
		return
	}
	s.journal.noteAnswer(plan.entry, rest.Reply{Status: http.StatusSwitchingProtocols})
	lxd.SendEvents(watcher, conn)
}

// ServeHTTP answers LXD's API.
func (e *endpoint) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if !e.beginHandler() {
		panic(http.ErrAbortHandler)
	}
	defer e.group.serving.Done()
	if isLXDEvents(r) {
		e.serveEvents(rw, r)
		return
	}
	rep, err := e.group.exchangeLXDCall(e.lxd, r)
	if err != nil {
		breakConnection(rw, err)
		return
	}
	writeReply(rw, rep, r.Method)
}

// exchangeLXDCall handles one call of an LXD, with its faults.
func (all *lxdEndpoints) exchangeLXDCall(l *world.LXD, r *http.Request) (rest.Reply, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, rest.MaxBody))
	if err != nil {
		return rest.Reply{}, err
	}
	c, found, plan := all.beginLXDCall(l, r, body)
	if err := waitForLXD(c, plan); err != nil {
		all.journal.noteLostCall(plan.entry)
		return rest.Reply{}, err
	}
	asCall := &request.Call{World: c.World, LXD: true}
	if plan.before != nil {
		return all.journal.breakCall(r.Context(), asCall, plan, plan.before)
	}
	rep := all.runLXDCall(c, found)
	if plan.after != nil {
		return all.journal.breakCall(r.Context(), asCall, plan, plan.after)
	}
	all.journal.noteAnswer(plan.entry, rep)
	return rep, nil
}

// beginLXDCall records the call and finds its faults.
func (all *lxdEndpoints) beginLXDCall(l *world.LXD, r *http.Request, body []byte) (*lxd.Call, []lxd.Route, callPlan) {
	all.keeper.Lock()
	defer all.keeper.Unlock()
	c := &lxd.Call{Ctx: r.Context(), World: all.world, LXD: l, Request: r, Body: body, Query: r.URL.Query()}
	c.Project = cmp.Or(c.Query.Get("project"), "default")
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		c.Client = r.TLS.PeerCertificates[0].Raw
	}
	var found []lxd.Route
	c.Vars, found = lxd.FindRoutes(all.routes, r.URL.Path)
	c.Pattern = strings.Trim(r.URL.Path, "/")
	if len(found) > 0 {
		c.Pattern = found[0].Path
	}
	fault := &request.Call{World: c.World, LXD: true, Method: r.Method, Pattern: "lxd/{host}/" + c.Pattern, Vars: map[string]string{"host": l.Name}}
	maps.Copy(fault.Vars, c.Vars)
	plan := all.faults.planCall(fault)
	plan.entry = all.journal.noteLXDCall(l, c)
	return c, found, plan
}

// waitForLXD waits as the LXD's condition and the faults demand.
func waitForLXD(c *lxd.Call, plan callPlan) error {
	c.World.Keeper.Lock()
	condition := c.LXD.EffectiveCondition()
	c.World.Keeper.Unlock()
	delay := plan.delay
	switch condition {
	case world.ConditionHanging:
		delay = math.MaxInt64
	case world.ConditionSlow:
		delay += driver.SlowDelay
	}
	return pauseCall(c.World, c.Ctx, delay)
}

// runLXDCall runs the call's handler. As in runCall, a panic is a bug of the simulator.
func (all *lxdEndpoints) runLXDCall(c *lxd.Call, found []lxd.Route) (rep rest.Reply) {
	all.keeper.Lock()
	defer all.keeper.Unlock()
	all.keeper.BeginHandler()
	defer func() {
		all.keeper.EndHandler()
		if bug := recover(); bug != nil {
			world.LogBug(c.Request.Method+" "+c.Request.URL.RequestURI(), bug)
			rep = lxd.InternalErrorReply("%s%s", world.BugText, fmt.Sprint(bug))
		}
	}()
	return c.Answer(found)
}
