package region

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// A close of a host counts for closeLease, and is prolonged as long as its maker
// is at work. What a run left that died is over soon enough for the next one to
// wait for it. MAAS may still be at the dead run's call then, for as long as it
// takes to list an LXD's instances.
const (
	closeLease         = time.Minute
	closeRenewInterval = closeLease / 4
	// removedHostLease is how long a host stays closed that was removed: longer than
	// anybody takes it for a host, by a list that he read before.
	removedHostLease = engine.MaxCloseLease
)

// ClosedHost is a host that one caller has alone, in this process by a lock, and
// among all that share the ledger by a close.
type ClosedHost struct {
	ctx context.Context // ends with the close
	end func()
	// removed: the host was removed. It stays closed for removedHostLease.
	removed bool
	// unclear: nobody knows whether MAAS is still at it. The close lasts until its
	// lease is over. This process may close the host again.
	unclear bool
}

// Context ends with the close, or with the caller's context.
func (q *ClosedHost) Context() context.Context { return q.ctx }

// End gives the host back.
func (q *ClosedHost) End() { q.end() }

// NoteRemoved notes that the host was removed: it stays closed after End, for those who
// take it for a host by a list that they read before.
func (q *ClosedHost) NoteRemoved() { q.removed = true }

// AskMAAS asks MAAS for something that makes it list the host's instances, or forget the
// host. Where nobody knows whether MAAS is still at it, the host stays closed.
func (q *ClosedHost) AskMAAS(ask func(context.Context) error) error {
	err := ask(q.ctx)
	if err != nil && (errors.Is(err, engine.ErrUnclear) || q.ctx.Err() != nil) {
		q.unclear = true
	}
	return err
}

// SyncHost has MAAS list the host's instances anew, or look at one VM alone.
func (q *ClosedHost) SyncHost(composer engine.Composer, host engine.VMHost, systemID string) error {
	return q.AskMAAS(func(ctx context.Context) error { return composer.SyncHost(ctx, host, systemID) })
}

// CloseHost has the host alone until its End, and refuses while a VM is being
// composed on it: a sync that ends inside a compose adopts the newborn, and a
// removal takes the VM with the host. The row of one key does not count.
func (r *Region) CloseHost(ctx context.Context, c engine.Config, host engine.VMHost, except engine.Key) (*ClosedHost, error) {
	unlock, err := r.Locks.lockExclusive(ctx, host)
	if err != nil {
		return nil, err
	}
	closing := engine.HostCloseRequest{HostKey: host.HostKey, Holder: r.holder, Lease: closeLease, Window: c.ComposeWindow, Except: except}
	asked := time.Now()
	if err := c.Ledger.CloseHost(ctx, closing); err != nil {
		unlock()
		return nil, fmt.Errorf("cannot change VM host %s now: %w", host.Name, err)
	}
	work, cancel := context.WithCancelCause(ctx)
	prolonged := make(chan struct{})
	go func() {
		defer close(prolonged)
		prolongClose(work, c, cancel, closing, asked)
	}()
	q := &ClosedHost{ctx: work}
	q.end = func() {
		cancel(nil)
		<-prolonged
		if err := openHost(ctx, c, closing, q); err != nil {
			c.Log.InfoContext(ctx, "a VM host stays closed for a while", "host", host.Name, slog.Any("error", err))
		}
		unlock()
	}
	return q, nil
}

// prolongClose keeps a close from running out. Where that fails, the work on the host
// ends before others may begin theirs.
//
// A close counts from when it was asked for: an answer may come late, where the ledger is
// on another machine. Nor does a call last longer than there is time to end the work.
func prolongClose(ctx context.Context, c engine.Config, cancel context.CancelCauseFunc, closing engine.HostCloseRequest, asked time.Time) {
	tick := time.NewTicker(closeRenewInterval)
	defer tick.Stop()
	until := asked.Add(closing.Lease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked = time.Now()
		call, stop := context.WithDeadline(ctx, until.Add(-2*closeRenewInterval))
		err := c.Ledger.CloseHost(call, closing)
		stop()
		switch {
		case err == nil:
			until = asked.Add(closing.Lease)
		case ctx.Err() == nil && time.Until(until) <= 2*closeRenewInterval:
			cancel(fmt.Errorf("cannot keep the VM host closed in the ledger: %w", err))
			return
		}
	}
}

// openHost ends a close, also where the caller has given up. A host that was
// removed stays closed for those who take it for one.
func openHost(ctx context.Context, c engine.Config, closing engine.HostCloseRequest, q *ClosedHost) error {
	ctx, cancel := engine.WithGrace(ctx)
	defer cancel()
	switch {
	case q.unclear:
		return nil
	case !q.removed:
		return c.Ledger.OpenHost(ctx, closing.HostKey, closing.Holder)
	}
	closing.Lease = removedHostLease
	return c.Ledger.CloseHost(ctx, closing)
}

// RestoreInterval is how often MAAS is asked to look for the machine of a VM host.
const RestoreInterval = time.Minute

// RestoreMachine lets MAAS find the machine of a VM host again.
func (r *Region) RestoreMachine(ctx context.Context, c engine.Config, host engine.VMHost) error {
	closed, err := r.CloseHost(ctx, c, host, "")
	if err != nil {
		return err
	}
	defer closed.End()
	if err := closed.SyncHost(c.Composer, host, ""); err != nil {
		return fmt.Errorf("cannot refresh VM host %s, whose machine MAAS has lost: %w", host.Name, err)
	}
	c.Names.Refresh(engine.ListHosts)
	c.Log.InfoContext(ctx, "refreshed a VM host whose machine MAAS had lost", "name", host.Name, "id", host.ID)
	return nil
}
