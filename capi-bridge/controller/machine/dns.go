package machine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// dnsAttachment reports whether the machine is in the DNS record of its
// cluster's API.
type dnsAttachment struct{ *scope }

const (
	// dnsPollInterval is how often the cluster's DNS record is read while a
	// machine's address must still appear in it, or disappear.
	dnsPollInterval = 10 * time.Second
	// dnsDetachTimeout is how long a machine that is being deleted waits for
	// its address to leave the DNS record. It does not wait for ever if nobody
	// writes the record.
	dnsDetachTimeout = 2 * time.Minute
)

// reconcile reports whether the machine's address is in the DNS record of the
// cluster's API. The MaasCluster's controller writes the record. Once the
// machine is attached, the record is read again only if its addresses change,
// or if it is lost or down. Where somebody else writes the record, there is no
// condition.
func (s dnsAttachment) reconcile(ctx context.Context, _ observation) time.Duration {
	if !s.isControlPlane() {
		return 0
	}
	kind := infrav1.DNSAttachedCondition
	if s.hasCustomEndpoint() {
		s.MaasMachine.Status.DNSAttached = false
		conditions.Delete(s.MaasMachine, kind)
		return 0
	}
	mine, leaves := strings.Join(endpoint.InternalIPs(s.MaasMachine), ", "), endpoint.IsLost(s.MaasMachine) || endpoint.IsDown(s.MaasMachine)
	if s.isAttachedWith(mine) && !leaves {
		return 0
	}
	var published []netip.Addr
	if leaves || conditions.IsTrue(s.maasCluster, infrav1.DNSReadyCondition) { // otherwise the record has nothing of the machine yet
		var err error
		if published, err = s.readAPIAddresses(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Info("cannot read the DNS record of the cluster", "error", err.Error())
			return requeue.WithJitter(requeue.RetryAfter)
		}
	}
	s.MaasMachine.Status.DNSAttached = s.isPublished(published)
	switch {
	case s.MaasMachine.Status.DNSAttached && leaves: // the address of the last machine that served stays
		s.setTrue(kind, infrav1.DNSAttachedReason, mine)
		return s.requeueWhileNew(infrav1.MachineDeployedCondition, s.currentTime(), dnsPollInterval)
	case s.MaasMachine.Status.DNSAttached:
	case leaves:
		s.setFalse(kind, infrav1.DNSDetachedReason, "")
		return 0
	default:
		s.setFalse(kind, infrav1.DNSAttachPendingReason, "the DNS record of the cluster's API does not have the machine's address yet")
		return s.requeueWhileNew(kind, s.currentTime(), dnsPollInterval)
	}
	s.setTrue(kind, infrav1.DNSAttachedReason, mine)
	return 0
}

// reconcileDetach reports whether the deletion of a machine may continue: its
// address has left the DNS record, or nobody is going to take it out. The last
// address stays: a cluster whose API has no address could not come back.
func (s dnsAttachment) reconcileDetach(ctx context.Context) bool {
	switch {
	case !s.isControlPlane(), s.hasCustomEndpoint(), s.maasCluster == nil, s.cluster == nil, len(endpoint.InternalIPs(s.MaasMachine)) == 0,
		!s.maasCluster.DeletionTimestamp.IsZero(), !s.cluster.DeletionTimestamp.IsZero(),
		s.currentTime().Sub(s.MaasMachine.DeletionTimestamp.Time) > dnsDetachTimeout:
		return true
	}
	published, err := s.readAPIAddresses(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot read the DNS record of the cluster", "error", err.Error())
		return false
	}
	attached := s.isPublished(published)
	s.MaasMachine.Status.DNSAttached = attached
	if !attached {
		s.setFalse(infrav1.DNSAttachedCondition, infrav1.DNSDetachedReason, "")
		return true
	}
	s.setTrue(infrav1.DNSAttachedCondition, infrav1.DNSDetachPendingReason, "the DNS record of the cluster's API still has the machine's address")
	mine := endpoint.InternalIPs(s.MaasMachine)
	return !slices.ContainsFunc(published, func(ip netip.Addr) bool { return !slices.Contains(mine, ip.String()) })
}

// hasCustomEndpoint reports whether somebody else publishes the cluster's
// endpoint.
func (s dnsAttachment) hasCustomEndpoint() bool {
	if s.maasCluster == nil {
		return false
	}
	host := s.maasCluster.Status.Network.DNSName
	_, published := endpoint.PublishedName(s.maasCluster, host)
	return endpoint.IsCustom(s.maasCluster) || host != "" && !published
}

// isAttachedWith reports whether the machine is attached with these addresses.
func (s dnsAttachment) isAttachedWith(addresses string) bool {
	m, kind := s.MaasMachine, infrav1.DNSAttachedCondition
	return m.Status.DNSAttached && conditions.GetReason(m, kind) == infrav1.DNSAttachedReason && conditions.GetMessage(m, kind) == addresses
}

// readAPIAddresses returns the addresses of the cluster's DNS record; none
// where there is no record.
func (s dnsAttachment) readAPIAddresses(ctx context.Context) ([]netip.Addr, error) {
	name, ok := endpoint.PublishedName(s.maasCluster, s.maasCluster.Status.Network.DNSName)
	if !ok {
		return nil, nil
	}
	if addresses, ok := s.Published.KnownAddresses(s.maasCluster, s.site, name, s.currentTime()); ok {
		return addresses, nil
	}
	record, err := s.site.DNS.DNSRecord(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return record.Addresses, err
}

func (s dnsAttachment) isPublished(published []netip.Addr) bool {
	mine := endpoint.InternalIPs(s.MaasMachine)
	return slices.ContainsFunc(published, func(ip netip.Addr) bool { return slices.Contains(mine, ip.String()) })
}
