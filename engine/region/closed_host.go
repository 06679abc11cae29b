package region

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// A close of a host lasts for closeLease, and its maker prolongs it while it works. After a run
// died, the lease ends soon enough for the next run to wait for it. MAAS may then still work on
// the dead run's call, for as long as it takes to list an LXD's instances.
const (
	closeLease         = time.Minute
	closeRenewInterval = closeLease / 4
	// removedHostLease is how long a removed host stays closed. It is longer than anybody uses
	// an old list that still has the host.
	removedHostLease = engine.MaxCloseLease
)

// ClosedHost is a host that one caller has alone: in this process by a lock, among all users of
// the ledger by a close.
type ClosedHost struct {
	ctx context.Context // ends with the close
	end func()
	// removed means that the host was removed. It stays closed for removedHostLease.
	removed bool
	// unclear means that MAAS may still be working on a call. The close lasts until its lease
	// is over. This process may close the host again.
	unclear bool
}

// Context ends with the close, or with the caller's context.
func (q *ClosedHost) Context() context.Context { return q.ctx }

// End gives the host back.
func (q *ClosedHost) End() { q.end() }

// NoteRemoved notes that the host was removed. It then stays closed after End, for callers with
// an old list that still has it.
func (q *ClosedHost) NoteRemoved() { q.removed = true }

// AskMAAS makes a call after which MAAS lists the host's instances, or forgets the host. If
// nobody knows whether MAAS still works on it, the host stays closed.
func (q *ClosedHost) AskMAAS(ask func(context.Context) error) error {
	err := ask(q.ctx)
	if err != nil && (errors.Is(err, engine.ErrUnclear) || q.ctx.Err() != nil) {
		q.unclear = true
	}
	return err
}

// SyncHost makes MAAS list the host's instances anew, or look at one VM alone.
func (q *ClosedHost) SyncHost(composer engine.Composer, host engine.VMHost, systemID string) error {
	return q.AskMAAS(func(ctx context.Context) error { return composer.SyncHost(ctx, host, systemID) })
}

// CloseHost takes the host for one caller alone, until End. It refuses while a VM is being
// composed on the host. A sync that ends inside a compose adopts the new VM, and a removal
// takes the VM with the host. The row of the key except does not count.
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
			c.Log.InfoContext(ctx, "a VM host stays closed until its lease ends", "host", host.Name, slog.Any("error", err))
		}
		unlock()
	}
	return q, nil
}

// prolongClose keeps a close from running out. If that fails, the work on the host ends before
// other runs may begin theirs.
//
// A close counts from the time of the request, because an answer may come late if the ledger is
// on another machine. A call lasts no longer than leaves time to end the work.
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

// openHost ends a close, also after the caller has given up. A removed host stays closed for
// callers with an old list that still has it.
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

// RestoreInterval is how often to ask MAAS to look for the machine of a VM host.
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
