package remote

import (
	"sync"
	"time"
)

// After a call has given up, others fail at once during outagePause: a plan
// with 200 VMs would otherwise wait 200 times. Then one call tests once whether
// the service is back.
//
// A call that runs out of time counts as one that has given up if it tried for
// minTriedTime. A shorter try says little about the service.
const (
	outagePause  = 5 * time.Second
	minTriedTime = 3 * time.Second
)

// outage is what is known of a service that does not answer.
type outage struct {
	mu      sync.Mutex
	since   time.Time // when a call gave up; zero: the service answers, or nobody has asked
	err     error     // of that call
	probing bool      // a call tries whether the service is back
}

// admitCall returns nil if a call may be sent, else the error of the call that
// gave up. A probe is sent once, and ends with noteAnswer or noteGiveUp.
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

// giveUpErrorSince is the error of a call that gave up since another one began; nil: none did.
func (a *outage) giveUpErrorSince(began time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.After(began) {
		return a.err
	}
	return nil
}

// noteGiveUp notes that a call got no answer.
func (a *outage) noteGiveUp(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since, a.err, a.probing = time.Now(), err, false
}

// noteAnswer notes that the service answers.
func (a *outage) noteAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since, a.err, a.probing = time.Time{}, nil, false
}

// endProbe lets another call try, where a probe's caller has given up.
func (a *outage) endProbe() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.probing = false
}
