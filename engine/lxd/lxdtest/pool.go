package lxdtest

import (
	"fmt"
	"sync"
)

// Pool starts LXDs ahead, so that a test need not wait for one, and bounds how
// many there are. One that was used is ended, not cleaned: to start another
// takes 0.8 s, a quarter of which is the processor's.
type Pool struct {
	startedAhead   chan startResult
	slots          chan struct{}
	startAheadOnce sync.Once
}

type startResult struct {
	server *Server
	err    error
}

// NewPool is a pool of at most so many LXDs at once, with some of them started
// ahead once the first was asked for. All of them end with the process.
func NewPool(ahead, most int) *Pool {
	return &Pool{startedAhead: make(chan startResult, ahead), slots: make(chan struct{}, most)}
}

// Lease gives an LXD on a machine; give back ends it. Where no real LXD can be
// had the error is ErrMissing.
func (p *Pool) Lease(m Machine) (s *Server, giveBack func(), err error) {
	if err := CheckAvailable(); err != nil {
		return nil, nil, err
	}
	select {
	case p.slots <- struct{}{}:
	default:
		return nil, nil, fmt.Errorf("%d real LXDs run already, as many as may", cap(p.slots))
	}
	p.startAheadOnce.Do(func() { go p.startAhead() })
	ready := <-p.startedAhead
	if ready.err == nil {
		ready.err = ready.server.setUpMachine(m)
	}
	giveBack = sync.OnceFunc(func() {
		if ready.server != nil {
			ready.server.Close()
		}
		<-p.slots
	})
	if ready.err != nil {
		giveBack()
		return nil, nil, ready.err
	}
	return ready.server, giveBack, nil
}

// startAhead keeps LXDs ready for as long as the process runs.
func (p *Pool) startAhead() {
	for {
		s, err := bootServer()
		p.startedAhead <- startResult{s, err}
	}
}
