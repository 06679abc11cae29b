package controller

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
	"github.com/maaslxd/maaslxd/engine"
)

const (
	// dnsLook is how often the cluster's DNS record is read while a machine's
	// address is still to come into it, or to leave it.
	dnsLook = 10 * time.Second
	// detachWithin is how long a machine that is being deleted waits for its
	// address to leave the DNS record: it does not stay for ever because nobody
	// writes the record.
	detachWithin = 2 * time.Minute
)

// attachDNS says whether the machine's address is in the DNS record of the
// cluster's API. The record is written for the cluster, not here. Once it is
// attached, that is not asked again until its addresses change, or it is lost or down.
// Of a record that somebody else writes nothing is said.
func (r *MachineReconciler) attachDNS(ctx context.Context, s *machineScope, _ sighting) time.Duration {
	if !s.controlPlane() {
		return 0
	}
	kind := infrav1.DNSAttachedCondition
	if s.customEndpoint() {
		s.maasMachine.Status.DNSAttached = false
		conditions.Delete(s.maasMachine, kind)
		return 0
	}
	mine, leaves := strings.Join(machineIPs(s.maasMachine), ", "), isLost(s.maasMachine) || isDown(s.maasMachine)
	if s.attachedWith(mine) && !leaves {
		return 0
	}
	var published []netip.Addr
	if leaves || conditions.IsTrue(s.maasCluster, infrav1.DNSReadyCondition) { // else there is nothing to see yet
		var err error
		if published, err = r.apiAddresses(ctx, s); err != nil {
			ctrl.LoggerFrom(ctx).Info("cannot read the DNS record of the cluster", "error", err.Error())
			return jittered(retryAfter)
		}
	}
	s.maasMachine.Status.DNSAttached = s.amongst(published)
	switch {
	case s.maasMachine.Status.DNSAttached && leaves: // the last one that served stays
		s.holds(kind, infrav1.DNSAttachedReason, mine)
		return s.whileFresh(infrav1.MachineDeployedCondition, r.now(), dnsLook)
	case s.maasMachine.Status.DNSAttached:
	case leaves:
		s.lacks(kind, infrav1.DNSDetachedReason, "")
		return 0
	default:
		s.lacks(kind, infrav1.DNSAttachPendingReason, "the DNS record of the cluster's API does not have the machine's address yet")
		return s.whileFresh(kind, r.now(), dnsLook)
	}
	s.holds(kind, infrav1.DNSAttachedReason, mine)
	return 0
}

// detachDNS tells whether a machine that is being deleted may go on: its address
// is no longer in the DNS record, or nobody is going to take it out. The last
// address stays: a cluster whose API has none could not come back.
func (r *MachineReconciler) detachDNS(ctx context.Context, s *machineScope) bool {
	switch {
	case !s.controlPlane(), s.customEndpoint(), s.maasCluster == nil, s.cluster == nil, len(machineIPs(s.maasMachine)) == 0,
		!s.maasCluster.DeletionTimestamp.IsZero(), !s.cluster.DeletionTimestamp.IsZero(),
		r.now().Sub(s.maasMachine.DeletionTimestamp.Time) > detachWithin:
		return true
	}
	published, err := r.apiAddresses(ctx, s)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot read the DNS record of the cluster", "error", err.Error())
		return false
	}
	attached := s.amongst(published)
	s.maasMachine.Status.DNSAttached = attached
	if !attached {
		s.lacks(infrav1.DNSAttachedCondition, infrav1.DNSDetachedReason, "")
		return true
	}
	s.holds(infrav1.DNSAttachedCondition, infrav1.DNSDetachPendingReason, "the DNS record of the cluster's API still has the machine's address")
	mine := machineIPs(s.maasMachine)
	return !slices.ContainsFunc(published, func(ip netip.Addr) bool { return !slices.Contains(mine, ip.String()) })
}

// customEndpoint tells that somebody else publishes the cluster's endpoint.
func (s *machineScope) customEndpoint() bool {
	if s.maasCluster == nil {
		return false
	}
	host := s.maasCluster.Status.Network.DNSName
	_, published := publishedName(s.maasCluster, host)
	return isCustom(s.maasCluster) || host != "" && !published
}

// attachedWith tells that the machine was attached with these addresses.
func (s *machineScope) attachedWith(addresses string) bool {
	for _, c := range s.maasMachine.Status.Conditions {
		if c.Type == infrav1.DNSAttachedCondition {
			return s.maasMachine.Status.DNSAttached && c.Reason == infrav1.DNSAttachedReason && c.Message == addresses
		}
	}
	return false
}

// apiAddresses are the addresses of the cluster's DNS record, none if there is no
// such record.
func (r *MachineReconciler) apiAddresses(ctx context.Context, s *machineScope) ([]netip.Addr, error) {
	name, ok := publishedName(s.maasCluster, s.maasCluster.Status.Network.DNSName)
	if !ok {
		return nil, nil
	}
	if addresses, ok := r.Published.known(s.maasCluster, s.site, name, r.now()); ok {
		return addresses, nil
	}
	record, err := s.site.DNS.DNSRecord(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return record.Addresses, err
}

func (s *machineScope) amongst(published []netip.Addr) bool {
	mine := machineIPs(s.maasMachine)
	return slices.ContainsFunc(published, func(ip netip.Addr) bool { return slices.Contains(mine, ip.String()) })
}
