package sim

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
)

// ServeHTTP answers LXD's API.
func (e *endpoint) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if !e.begin() {
		panic(http.ErrAbortHandler)
	}
	defer e.sim.serving.Done()
	if isLXDEvents(r) {
		e.watch(rw, r)
		return
	}
	rep, err := e.sim.exchangeLXD(e.lxd, r)
	if err != nil {
		breakConnection(rw, err)
		return
	}
	writeReply(rw, rep, r.Method)
}

// exchangeLXD is one call of an LXD with the faults that hit it.
func (s *Sim) exchangeLXD(l *lxdServer, r *http.Request) (reply, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return reply{}, err
	}
	c, found, plan := s.beginLXD(l, r, body)
	if err := c.wait(plan); err != nil {
		s.journal.lost(s, plan.entry)
		return reply{}, err
	}
	asCall := &call{w: c.w, lxd: true}
	if plan.before != nil {
		return s.breakCall(r.Context(), asCall, plan, plan.before)
	}
	rep := s.runLXD(c, found)
	if plan.after != nil {
		return s.breakCall(r.Context(), asCall, plan, plan.after)
	}
	s.journal.answered(s, plan.entry, rep)
	return rep, nil
}

// beginLXD notes the call and looks which faults hit it.
func (s *Sim) beginLXD(l *lxdServer, r *http.Request, body []byte) (*lxdCall, []lxdRoute, callPlan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &lxdCall{ctx: r.Context(), w: s.world, l: l, r: r, body: body, query: r.URL.Query()}
	c.project = or(c.query.Get("project"), "default")
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		c.client = r.TLS.PeerCertificates[0].Raw
	}
	var found []lxdRoute
	c.vars, found = lxdResource(s.lxdRoutes, r.URL.Path)
	c.pattern = strings.Trim(r.URL.Path, "/")
	if len(found) > 0 {
		c.pattern = found[0].path
	}
	fault := &call{w: c.w, lxd: true, method: r.Method, pattern: "lxd/{host}/" + c.pattern, vars: map[string]string{"host": l.name}}
	maps.Copy(fault.vars, c.vars)
	plan := s.faults.plan(fault)
	plan.entry = s.journal.beginLXD(l, c)
	return c, found, plan
}

// wait lets pass what the LXD's condition and the faults want.
func (c *lxdCall) wait(plan callPlan) error {
	c.w.sim.mu.Lock()
	condition := c.l.state()
	c.w.sim.mu.Unlock()
	delay := plan.delay
	switch condition {
	case Hanging:
		delay = math.MaxInt64
	case Slow:
		delay += slowness
	}
	if delay <= 0 {
		return nil
	}
	return c.w.pause(c.ctx, delay)
}

// runLXD handles the call. A panic is a bug of the simulator, as in run.
func (s *Sim) runLXD(c *lxdCall, found []lxdRoute) (rep reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
	defer func() {
		s.ended()
		if bug := recover(); bug != nil {
			logBug(c.r.Method+" "+c.r.URL.RequestURI(), bug)
			rep = lxdBroken("%s%s", bugText, fmt.Sprint(bug))
		}
	}()
	return c.answer(found)
}

// leave lets others act on the world until ready, the end of the world or of
// the caller. It says whether ready came.
func (c *lxdCall) leave(ctx context.Context, ready <-chan struct{}) bool {
	c.w.sim.mu.Unlock()
	defer c.w.sim.mu.Lock()
	select {
	case <-ready:
		return true
	case <-c.w.done:
	case <-ctx.Done():
	}
	return false
}
