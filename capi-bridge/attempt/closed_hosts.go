package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// closesAnnotation on the Lease of the closes lists the hosts that a leader has
// closed. MAAS may still work on a request after the leader is dead. The next
// leader keeps the hosts closed until the closes expire.
const closesAnnotation = infrav1.AnnotationPrefix + "closed-hosts"

// closedHost is the close of one host.
type closedHost struct {
	Region string    `json:"region"`
	Host   string    `json:"host"`
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

// matches reports whether a close belongs to a holder. An empty holder matches
// any.
func (c closedHost) matches(region, host, holder string) bool {
	return c.Region == region && c.Host == host && (holder == "" || c.Holder == holder)
}

// readCloses reads the closes that have not expired, and the Lease with them. A
// Lease without a resource version does not exist yet.
func (l *Ledger) readCloses(ctx context.Context) (all []closedHost, of *coordinationv1.Lease, err error) {
	of = &coordinationv1.Lease{}
	if err := l.Reader.Get(ctx, l.ClosesKey, of); client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("cannot read which VM hosts are closed: %w: %w", engine.ErrUnavailable, err)
	}
	read, err := parseCloses(of.Annotations[closesAnnotation])
	if err != nil {
		return nil, nil, l.malformedClosesError(err)
	}
	now := l.Now()
	for _, c := range read {
		if c.Until.After(now) && c.Until.Before(now.Add(2*engine.MaxCloseLease)) {
			all = append(all, c)
		}
	}
	return all, of, nil
}

// parseCloses reads the annotation; empty: no host is closed.
func parseCloses(text string) (all []closedHost, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Region == "" || c.Host == "" || c.Until.IsZero() {
			return nil, errors.New("a close lacks its region, its host or its end")
		}
	}
	return all, nil
}

// malformedClosesError says why nothing is placed: somebody edited the list by
// hand, and the closed hosts are unknown.
func (l *Ledger) malformedClosesError(cause error) error {
	return fmt.Errorf("the annotation of the Lease %s that lists closed VM hosts, %s, cannot be read, so nothing is placed: %w. "+
		"When no VM host has been removed or refreshed for two minutes, remove the annotation: kubectl annotate lease -n %s %s %s- (%w)",
		l.ClosesKey, closesAnnotation, cause, l.ClosesKey.Namespace, l.ClosesKey.Name, closesAnnotation, engine.ErrUnavailable)
}

// changeCloses removes a holder's closes of a host, and adds the given ones.
func (l *Ledger) changeCloses(ctx context.Context, region, host, holder string, add ...closedHost) error {
	if l.ClosesKey.Name == "" {
		return nil
	}
	for tries := 1; ; tries++ {
		all, of, err := l.readCloses(ctx)
		if err != nil {
			return err
		}
		next := add
		for _, c := range all {
			if !c.matches(region, host, holder) {
				next = append(next[:len(next):len(next)], c)
			}
		}
		text, err := json.Marshal(next)
		if err != nil {
			return err
		}
		if of.ResourceVersion == "" {
			of.ObjectMeta = metav1.ObjectMeta{Namespace: l.ClosesKey.Namespace, Name: l.ClosesKey.Name, Annotations: map[string]string{closesAnnotation: string(text)}}
			err = l.Writer.Create(ctx, of)
		} else {
			before := of.DeepCopy()
			metav1.SetMetaDataAnnotation(&of.ObjectMeta, closesAnnotation, string(text))
			err = l.Writer.Patch(ctx, of, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || tries == maxWriteTries || !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("cannot record that VM host %s is closed or open: %w: %w", host, engine.ErrUnavailable, err)
		}
	}
}

// restoreCloses closes the hosts of a region that a former leader had closed.
// The caller holds mu.
func (l *Ledger) restoreCloses(ctx context.Context, region string) error {
	rest := l.formerCloses[:0:0]
	for _, c := range l.formerCloses {
		if c.Region != region {
			rest = append(rest, c)
			continue
		}
		lease := min(c.Until.Sub(l.Now()), engine.MaxCloseLease)
		if lease <= 0 {
			continue
		}
		if err := l.memory.Region(region).CloseHost(ctx, engine.HostCloseRequest{HostKey: c.Host, Holder: c.Holder, Lease: lease}); err != nil {
			return err
		}
	}
	l.formerCloses = rest
	return nil
}

// CloseHost implements engine.Ledger. As with a compose, the manager must still
// lead after it has written the close. While nothing may be placed, nothing may
// be closed either: an unrecorded compose may be under way on that host.
func (r *regionLedger) CloseHost(ctx context.Context, c engine.HostCloseRequest) error {
	if err := r.restoreRows(ctx); err != nil {
		return err
	}
	if err := r.placeDelayError(); err != nil {
		return err
	}
	if err := r.Ledger.CloseHost(ctx, c); err != nil {
		return err
	}
	err := r.parent.changeCloses(ctx, r.name, c.HostKey, c.Holder, closedHost{r.name, c.HostKey, c.Holder, r.parent.Now().Add(c.Lease)})
	if err == nil && r.parent.CheckLeader != nil {
		err = r.parent.CheckLeader(ctx)
	}
	return err
}

// OpenHost implements engine.Ledger. If the close stays in the Lease, the next
// leader has to wait.
func (r *regionLedger) OpenHost(ctx context.Context, hostKey, holder string) error {
	if err := r.restoreRows(ctx); err != nil {
		return err
	}
	if err := r.Ledger.OpenHost(ctx, hostKey, holder); err != nil {
		return err
	}
	_ = r.parent.changeCloses(ctx, r.name, hostKey, holder)
	return nil
}
