package remote

import (
	"sync"
	"time"
)

// After a call has given up, other calls fail at once for outagePause. Otherwise a plan with 200
// VMs would wait 200 times. Then one call, the probe, tests whether the service is back.
//
// A call that runs out of its caller's time counts as given up only if it tried for
// minTriedTime. A shorter try says little about the service.
const (
	outagePause  = 5 * time.Second
	minTriedTime = 3 * time.Second
)

// outage records that a service does not answer.
type outage struct {
	mu      sync.Mutex
	since   time.Time // when a call gave up; zero: the service answers, or no call was sent
	err     error     // of that call
	probing bool      // a probe is under way
}

// admitCall returns nil if a call may be sent, and otherwise the error of the call that gave up.
// A probe is sent in one round only, and ends with noteAnswer or noteGiveUp.
func (a *outage) admitCall() (probe bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.since.IsZero():
		return false, nil
	case a.probing, time.Since(a.since) < outagePause:
		return false, a.err
	}
	a.probing = true
	return true, nil
}

// giveUpErrorSince returns the error of a call that gave up after the time began; nil: there is
// none.
func (a *outage) giveUpErrorSince(began time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.After(began) {
		return a.err
	}
	return nil
}

// noteGiveUp records that a call got no answer.
func (a *outage) noteGiveUp(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since, a.err, a.probing = time.Now(), err, false
}

// noteAnswer records that the service answers.
func (a *outage) noteAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since, a.err, a.probing = time.Time{}, nil, false
}

// endProbe lets another call be the probe if the caller of the last one gave up.
func (a *outage) endProbe() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.probing = false
}
