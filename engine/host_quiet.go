package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// A close of a host counts for closeLease, and is prolonged as long as its maker
// is at work. What a run left that died is over soon enough for the next one to
// wait for it. MAAS may still be at the dead run's call then, for as long as it
// takes to list an LXD's instances.
const (
	closeLease   = time.Minute
	closeProlong = closeLease / 4
	// closedAfter is how long a host stays closed that was removed: longer than
	// anybody takes it for a host, by a list that he read before.
	closedAfter = LongestClose
)

// quietHost is a host that one caller has alone, in this process by a lock, and
// among all that share the ledger by a close.
type quietHost struct {
	ctx context.Context // ends with the close
	end func()          // gives the host back
	// gone: the host was removed. It stays closed for closedAfter.
	gone bool
	// unclear: nobody knows whether MAAS is still at it. The close lasts until its
	// lease is over, for all but this process.
	unclear bool
}

// do asks MAAS for something that makes it list the host's instances, or forget the
// host. Where nobody knows whether MAAS is still at it, the host stays closed.
func (q *quietHost) do(ask func(context.Context) error) error {
	err := ask(q.ctx)
	if err != nil && (errors.Is(err, ErrUnclear) || q.ctx.Err() != nil) {
		q.unclear = true
	}
	return err
}

// sync has MAAS list the host's instances anew, or look at one VM alone.
func (q *quietHost) sync(composer Composer, host VMHost, systemID string) error {
	return q.do(func(ctx context.Context) error { return composer.Sync(ctx, host, systemID) })
}

// quiet has the host alone until its end, and refuses while a VM is being
// composed on it: a sync that ends inside a compose adopts the newborn, and a
// removal takes the VM with the host. The row of one key does not count.
func (c Config) quiet(ctx context.Context, locks *hostLocks, host VMHost, except Key) (*quietHost, error) {
	unlock, err := locks.alone(ctx, host)
	if err != nil {
		return nil, err
	}
	closing := Close{HostKey: host.HostKey, Holder: c.Region.holder, Lease: closeLease, Window: c.ComposeWindow, Except: except}
	if err := c.Ledger.CloseHost(ctx, closing); err != nil {
		unlock()
		return nil, fmt.Errorf("cannot change VM host %s now: %w", host.Name, err)
	}
	work, cancel := context.WithCancelCause(ctx)
	prolonged := make(chan struct{})
	go func() {
		defer close(prolonged)
		c.prolong(work, cancel, closing)
	}()
	q := &quietHost{ctx: work}
	q.end = func() {
		cancel(nil)
		<-prolonged
		if err := c.openHost(ctx, closing, q); err != nil {
			c.Log.InfoContext(ctx, "a VM host stays closed for a while", "host", host.Name, slog.Any("error", err))
		}
		unlock()
	}
	return q, nil
}

// prolong keeps a close from running out. Where that fails, the work on the host
// ends before others may begin theirs.
func (c Config) prolong(ctx context.Context, cancel context.CancelCauseFunc, closing Close) {
	tick := time.NewTicker(closeProlong)
	defer tick.Stop()
	until := time.Now().Add(closing.Lease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch err := c.Ledger.CloseHost(ctx, closing); {
		case err == nil:
			until = time.Now().Add(closing.Lease)
		case ctx.Err() == nil && time.Until(until) < 2*closeProlong:
			cancel(fmt.Errorf("cannot keep the VM host closed in the ledger: %w", err))
			return
		}
	}
}

// openHost ends a close, also where the caller has given up. A host that was
// removed stays closed for those who take it for one.
func (c Config) openHost(ctx context.Context, closing Close, q *quietHost) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	switch {
	case q.unclear:
		return nil
	case !q.gone:
		return c.Ledger.OpenHost(ctx, closing.HostKey, closing.Holder)
	}
	closing.Lease = closedAfter
	return c.Ledger.CloseHost(ctx, closing)
}
