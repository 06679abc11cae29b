package sim

import (
	"context"
	"fmt"
	"log"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
)

// ServeHTTP answers MAAS's API below /MAAS/ and the steering below /_sim/.
func (s *Sim) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, steerRoot) {
		writeReply(rw, s.steer(r), r.Method)
		return
	}
	if strings.HasPrefix(r.URL.Path, metadataRoot) {
		writeReply(rw, s.metadata(r), r.Method)
		return
	}
	s.countConnection(r.Context())
	rep, err := s.exchange(r)
	if err != nil {
		breakConnection(rw, err)
		return
	}
	writeReply(rw, rep, r.Method)
}

func writeReply(rw http.ResponseWriter, rep reply, method string) {
	for name, values := range rep.header {
		rw.Header()[http.CanonicalHeaderKey(name)] = values
	}
	rw.Header().Set("Content-Type", rep.kind)
	rw.WriteHeader(rep.status)
	if rep.status != http.StatusNoContent && method != http.MethodHead {
		_, _ = rw.Write(rep.body) // the client may be gone
	}
}

// exchange is one call of the API with the faults that hit it. The error is
// how the connection ends instead of a reply.
//
// As in MAAS, a call runs to its end although its client has gone.
func (s *Sim) exchange(r *http.Request) (reply, error) {
	form, err := readForm(r)
	if err != nil {
		return badText(err.Error()), nil
	}
	c := &call{method: r.Method, query: r.URL.Query(), form: form, op: r.URL.Query().Get("op")}
	plan := s.begin(c, r)
	if plan.delay > 0 {
		if err := c.w.pause(r.Context(), plan.delay); err != nil {
			s.journal.lost(s, plan.entry)
			return reply{}, err
		}
	}
	if plan.before != nil {
		return s.breakCall(r.Context(), c, plan, plan.before)
	}
	done := make(chan reply, 1)
	go func() { done <- s.run(c, r) }()
	select {
	case rep := <-done:
		if plan.after != nil {
			return s.breakCall(r.Context(), c, plan, plan.after)
		}
		if rep.lost {
			s.journal.lost(s, plan.entry)
			return reply{}, errLostReply
		}
		s.journal.answered(s, plan.entry, rep)
		return rep, nil
	case <-r.Context().Done():
		s.journal.lost(s, plan.entry)
		return reply{}, r.Context().Err()
	}
}

// begin notes the call and looks which faults hit it.
func (s *Sim) begin(c *call, r *http.Request) callPlan {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.w = s.world
	if path, isAPI := strings.CutPrefix(r.URL.Path, apiRoot); isAPI {
		if res, found := s.resourceAt(path); found {
			c.pattern, c.vars = res.pattern, res.vars
		}
	}
	plan := s.faults.plan(c)
	c.w.nasty.plan(c, &plan)
	plan.entry = s.journal.begin(c, r)
	plan.delay += s.model.Latency.Call
	return plan
}

// run handles the call in the world that it began in. A panic is a bug of the
// simulator: it costs that call a 500 and spares all others.
func (s *Sim) run(c *call, r *http.Request) (rep reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
	began := !c.w.ended
	defer func() {
		s.ended()
		if bug := recover(); bug != nil {
			logBug(r.Method+" "+r.URL.RequestURI(), bug)
			rep = internalError(bugText + fmt.Sprint(bug))
		}
		if began && c.w.ended {
			rep = unavailable("The simulator was reset or closed during the call.")
		}
	}()
	return s.dispatch(c, r)
}

// ended notes that a handler has ended.
func (s *Sim) ended() {
	s.running--
	s.idle.Broadcast()
}

// bugText begins the body of a 500 that no MAAS would answer.
const bugText = "maassim: bug of the simulator: "

// logBug writes a panic to stderr.
func logBug(where string, bug any) {
	log.Printf("%s%v, at %s\n%s", bugText, bug, where, debug.Stack())
}

// breakCall ends a call as a fault says.
func (s *Sim) breakCall(ctx context.Context, c *call, plan callPlan, f *Fault) (reply, error) {
	switch f.Kind {
	case FaultStatus:
		rep := refused(f.Status, or(f.Body, http.StatusText(f.Status)))
		if c.lxd {
			rep = lxdRefused(f.Status, "%s", or(f.Body, http.StatusText(f.Status)))
		}
		s.journal.answered(s, plan.entry, rep)
		return rep, nil
	case FaultHang:
		err := c.w.pause(ctx, math.MaxInt64)
		s.journal.lost(s, plan.entry)
		return reply{}, err
	case FaultReset:
		s.journal.lost(s, plan.entry)
		return reply{}, errReset
	}
	s.journal.lost(s, plan.entry)
	return reply{}, errLostReply
}
