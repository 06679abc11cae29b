package sim

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/metadata"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// serveMetadata answers a machine, which the credentials on its disk identify. The journal
// does not record these calls.
func (s *Sim) serveMetadata(r *http.Request) rest.Reply {
	body, err := io.ReadAll(io.LimitReader(r.Body, rest.MaxBody))
	if err != nil {
		return rest.BadTextReply(err.Error())
	}
	s.keeper.Lock()
	defer s.keeper.Unlock()
	return metadata.ServeMetadata(s.world, r, body)
}

// ServeHTTP serves MAAS's API below /MAAS/ and the simulator's own API below /_sim/.
func (s *Sim) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, steerRoot) {
		writeReply(rw, s.answerSteering(r), r.Method)
		return
	}
	if strings.HasPrefix(r.URL.Path, metadata.Root) {
		writeReply(rw, s.serveMetadata(r), r.Method)
		return
	}
	s.countConnection(r.Context())
	rep, err := s.exchangeCall(r)
	if err != nil {
		breakConnection(rw, err)
		return
	}
	writeReply(rw, rep, r.Method)
}

func writeReply(rw http.ResponseWriter, rep rest.Reply, method string) {
	for name, values := range rep.Header {
		rw.Header()[http.CanonicalHeaderKey(name)] = values
	}
	rw.Header().Set("Content-Type", rep.Kind)
	rw.WriteHeader(rep.Status)
	if rep.Status != http.StatusNoContent && method != http.MethodHead {
		_, _ = rw.Write(rep.Body) // the client may be gone
	}
}

// exchangeCall handles one call of the API with its faults. If there is no reply, the
// error tells how the connection ends.
//
// As in MAAS, a call runs to its end even if its client has gone.
func (s *Sim) exchangeCall(r *http.Request) (rest.Reply, error) {
	order := rest.FieldsInOrder(r)
	form, unreadable := rest.ReadForm(r)
	if unreadable != nil && unreadable.Status == http.StatusRequestEntityTooLarge {
		return *unreadable, nil
	}
	c := request.NewCall(r, form)
	c.FieldOrder = order
	c.BodyRefusal = unreadable
	plan := s.beginCall(c, r)
	if err := pauseCall(c.World, r.Context(), plan.delay); err != nil {
		s.journal.noteLostCall(plan.entry)
		return rest.Reply{}, err
	}
	if plan.before != nil {
		return s.breakCall(r.Context(), c, plan, plan.before)
	}
	began, done := time.Now(), make(chan rest.Reply, 1)
	go func() { done <- s.runCall(c, r) }()
	select {
	case rep := <-done:
		if plan.after != nil {
			return s.breakCall(r.Context(), c, plan, plan.after)
		}
		if err := pauseCall(c.World, r.Context(), s.answerDelay(c, began)); err != nil {
			s.journal.noteLostCall(plan.entry)
			return rest.Reply{}, err
		}
		if rep.Lost {
			s.journal.noteLostCall(plan.entry)
			return rest.Reply{}, errLostReply
		}
		s.journal.noteAnswer(plan.entry, rep)
		return rep, nil
	case <-r.Context().Done():
		s.journal.noteLostCall(plan.entry)
		return rest.Reply{}, r.Context().Err()
	}
}

// beginCall records the call and finds its faults.
func (s *Sim) beginCall(c *request.Call, r *http.Request) callPlan {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	c.World = s.world
	if path, isAPI := strings.CutPrefix(r.URL.Path, rest.APIRoot); isAPI {
		if res, op, found := s.router.FindResource(c.World.Version, path); found {
			c.Pattern, c.Vars, c.Op = res.Pattern, res.Vars, cmp.Or(c.Op, op)
		}
	}
	plan := s.faultSet.planCall(c)
	planRandomFaults(c.World.FaultSource, c, &plan)
	plan.entry = s.journal.noteCall(c, r)
	plan.delay += s.model.Latency.Call / 2
	return plan
}

// answerDelay is the second half of [Latency.Call]: the answer's way to the client. The
// simulator's own work for a read counts into it, so a read takes as long on a slow
// machine as on a fast one. The time of a write is part of the model.
func (s *Sim) answerDelay(c *request.Call, began time.Time) time.Duration {
	delay := s.model.Latency.Call - s.model.Latency.Call/2
	if c.Method == http.MethodGet {
		delay -= time.Since(began)
	}
	return delay
}

// runCall runs the call in the world in which it began. A panic is a bug of the simulator:
// the call answers 500, and all others continue.
func (s *Sim) runCall(c *request.Call, r *http.Request) (rep rest.Reply) {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	s.keeper.BeginHandler()
	began := !c.World.Ended
	defer func() {
		s.keeper.EndHandler()
		if bug := recover(); bug != nil {
			world.LogBug(r.Method+" "+r.URL.RequestURI(), bug)
			rep = hosts.InternalErrorReply(world.BugText + fmt.Sprint(bug))
		}
		if began && c.World.Ended {
			rep = rest.UnavailableReply("The simulator was reset or closed during the call.")
		}
	}()
	return s.dispatch(c, r)
}

// breakCall ends a call as a fault demands.
func (j *journal) breakCall(ctx context.Context, c *request.Call, plan callPlan, f *Fault) (rest.Reply, error) {
	switch f.Kind {
	case FaultStatus:
		rep := rest.ErrorReply(f.Status, cmp.Or(f.Body, http.StatusText(f.Status)))
		if c.LXD {
			rep = lxd.ErrorReply(f.Status, "%s", cmp.Or(f.Body, http.StatusText(f.Status)))
		}
		j.noteAnswer(plan.entry, rep)
		return rep, nil
	case FaultHang:
		err := pauseCall(c.World, ctx, math.MaxInt64)
		j.noteLostCall(plan.entry)
		return rest.Reply{}, err
	case FaultReset:
		j.noteLostCall(plan.entry)
		return rest.Reply{}, errReset
	}
	j.noteLostCall(plan.entry)
	return rest.Reply{}, errLostReply
}
