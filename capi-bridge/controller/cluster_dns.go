package controller

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// endpointTTLSeconds is how long an answer for the API's name may be kept: a
// machine of the control plane that goes is forgotten soon.
const endpointTTLSeconds = 10

// reconcileDNS keeps the record of the API's name, where it is ours, and reports
// whether machines can be made that will look for the API by it. The error is
// the API server's.
func (s *clusterScope) reconcileDNS(ctx context.Context) (bool, error) {
	host := s.maas.Spec.ControlPlaneEndpoint.Host
	name, published := s.dnsName()
	switch {
	case host == "":
		s.set(infrav1.DNSReadyCondition, no, infrav1.WaitForDNSNameReason,
			"the annotation "+infrav1.CustomEndpointAnnotation+" says that somebody else names the API: set spec.controlPlaneEndpoint.host")
		return false, nil
	case !published:
		s.maas.Status.Network.DNSName = host
		s.set(infrav1.DNSReadyCondition, yes, infrav1.DNSReadyReason, host+" is not in the domain "+s.maas.Spec.DNSDomain+" or is published by somebody else")
		return true, nil
	}
	if !s.mayUseDomain() {
		return false, nil
	}
	if !s.hasDomain(ctx) {
		return false, nil
	}
	if may, err := s.mayUseName(ctx, name); !may || err != nil {
		return false, err
	}
	if !s.claim(ctx, name) {
		return false, nil
	}
	s.maas.Status.Network.DNSName = host
	return true, s.publish(ctx, name)
}

// mayUseDomain tells whether the identity allows the cluster's domain. Otherwise a
// condition says so.
func (s *clusterScope) mayUseDomain() bool {
	_, err := within("spec.dnsDomain", s.maas.Spec.DNSDomain, s.site.Limits.Domains)
	if err != nil {
		s.failed(infrav1.DNSReadyCondition, err)
	}
	return err == nil
}

// hasDomain tells whether MAAS has the cluster's domain.
func (s *clusterScope) hasDomain(ctx context.Context) bool {
	domain := s.maas.Spec.DNSDomain
	has, err := s.has(ctx, s.site.Names.Domains, domain)
	switch {
	case err != nil:
		s.failed(infrav1.DNSReadyCondition, err)
	case !has:
		s.set(infrav1.DNSReadyCondition, no, infrav1.DNSDomainNotFoundReason,
			fmt.Sprintf("MAAS has no domain %s; make it there, for dnsDomain cannot change", domain))
		s.soon(jittered(retryAfter))
	}
	return has && err == nil
}

// has looks for a name in one of MAAS's lists, twice where it is not there:
// somebody may just have made it.
func (s *clusterScope) has(ctx context.Context, list func(context.Context) ([]string, error), name string) (bool, error) {
	names, err := list(ctx)
	if err == nil && !slices.Contains(names, name) {
		s.site.Names.Refresh()
		names, err = list(ctx)
	}
	return slices.Contains(names, name), err
}

// claim makes a name ours that a user gave or that came with the object, unless MAAS
// has it for somebody else: then it points to what is no machine of the cluster, or is
// a machine's. It is written down before anything is published by it.
func (s *clusterScope) claim(ctx context.Context, name engine.DNSName) bool {
	if s.maas.Annotations[DNSNameAnnotation] == name.String() && !s.isUnproven() {
		return true
	}
	have, err := s.site.DNS.DNSRecord(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		s.failed(infrav1.DNSReadyCondition, err)
		return false
	}
	if stranger := slices.IndexFunc(have.Addresses, s.isStranger()); stranger >= 0 {
		s.set(infrav1.DNSReadyCondition, no, infrav1.ConflictReason, fmt.Sprintf(
			"MAAS has %s already, for %s, which is no machine of the cluster; remove the name in MAAS, or set the annotation %s, so that it is left alone",
			name, have.Addresses[stranger], infrav1.CustomEndpointAnnotation))
		s.soon(mendAfter)
		if s.isUnproven() {
			s.soon(jittered(retryAfter)) // the address of its own machine may not be seen yet
		}
		return false
	}
	if taken, err := s.isMachinesName(ctx, name); taken || err != nil {
		if err != nil {
			s.failed(infrav1.DNSReadyCondition, err)
		}
		return false
	}
	annotate(s.maas, DNSNameAnnotation, name.String())
	delete(s.maas.Annotations, UnprovenAnnotation)
	s.soon(busyAfter) // to publish it, once that is saved
	return false
}

// publish writes the addresses of the control plane, where there are any. A
// record is never emptied: where no address is known, what was published stays.
// Nor is it changed while the Cluster is being deleted: MAAS takes out of it what
// it releases, and what is left goes with the MaasCluster.
func (s *clusterScope) publish(ctx context.Context, name engine.DNSName) error {
	if s.cluster != nil && !s.cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	preferred, err := s.preferredSubnets(ctx)
	if err != nil {
		return err
	}
	subnets, ok := s.resolveSubnets(ctx, preferred)
	if !ok {
		return nil
	}
	addresses, err := s.endpointAddresses(ctx, name, subnets)
	if err != nil {
		s.failed(infrav1.DNSReadyCondition, err)
		return nil
	}
	if len(addresses) == 0 {
		s.unpublished(preferred)
		return nil
	}
	if err := s.point(ctx, name, addresses); err != nil {
		s.failed(infrav1.DNSReadyCondition, err)
		return nil
	}
	s.set(infrav1.DNSReadyCondition, yes, infrav1.DNSReadyReason, fmt.Sprintf("%s points to %s", name, joined(addresses)))
	return nil
}

// unpublished says why no machine is published. One that is being deployed may
// get an address in the preferred subnets still; one that serves will not.
func (s *clusterScope) unpublished(preferred []string) {
	if len(servingAddresses(s.machines, nil)) == 0 {
		message := "no machine of the control plane has an address yet"
		if anyControlPlane(s.machines, remains) && !anyControlPlane(s.machines, serves) {
			message = "all machines of the control plane that served are lost; what was published stays until they are deleted. See MachineDeployed of the MaasMachines"
		}
		s.set(infrav1.DNSReadyCondition, no, infrav1.WaitingForControlPlaneReason, message)
		return
	}
	reason := infrav1.WaitingForControlPlaneReason
	if anyControlPlane(s.machines, serves) {
		reason = infrav1.InvalidSpecReason
	}
	s.set(infrav1.DNSReadyCondition, no, reason, fmt.Sprintf(
		"no machine of the control plane has an address in the preferred subnets (%s); mend spec.preferredSubnets, or the ConfigMap %s of the namespace",
		strings.Join(preferred, ", "), infrav1.PreferredSubnetConfigMap))
}

// point makes the name point to the addresses, unless it is known to.
func (s *clusterScope) point(ctx context.Context, name engine.DNSName, addresses []netip.Addr) error {
	is := publication{site: s.site, name: name, addresses: addresses, at: s.now()}
	if had, ok := s.Published.known(s.maas, s.site, name, is.at); ok && slices.Equal(had, addresses) {
		return nil
	}
	s.Published.forget(client.ObjectKeyFromObject(s.maas))
	changed, err := s.site.DNS.PublishDNS(ctx, name, engine.DNSRecord{Addresses: addresses, TTLSeconds: endpointTTLSeconds})
	if err != nil {
		return err
	}
	if changed {
		ctrl.LoggerFrom(ctx).Info("published the API of the cluster", "name", name.String(), "addresses", addresses)
	}
	s.Published.remember(s.maas, is)
	return nil
}

func (s *clusterScope) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// endpointAddresses are those that the API's name points to. Where all machines
// of the control plane are being deleted, those of them stay that are in the
// record still; one that was taken out does not come back. What a machine had that
// is lost does not count. With nothing left, the record stays as it is.
func (s *clusterScope) endpointAddresses(ctx context.Context, name engine.DNSName, subnets []netip.Prefix) ([]netip.Addr, error) {
	serving := servingAddresses(s.machines, subnets)
	unseen := anyControlPlane(s.machines, isUnseen)
	if len(serving) > 0 && !unseen {
		return serving, nil
	}
	leaving := addressesOf(s.machines, subnets, func(m *infrav1.MaasMachine) bool { return !m.DeletionTimestamp.IsZero() && !isLost(m) })
	if len(leaving) == 0 && !unseen {
		return nil, nil
	}
	have, err := s.site.DNS.DNSRecord(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, err
	}
	if unseen {
		left := s.allAddresses(func(m *infrav1.MaasMachine) bool { return !m.DeletionTimestamp.IsZero() || isLost(m) || isDown(m) })
		kept := slices.DeleteFunc(slices.Clone(have.Addresses), func(ip netip.Addr) bool { return slices.Contains(left, ip) })
		serving = append(serving, kept...)
		slices.SortFunc(serving, netip.Addr.Compare)
	}
	if len(serving) > 0 {
		return slices.Compact(serving), nil
	}
	return slices.DeleteFunc(leaving, func(ip netip.Addr) bool { return !slices.Contains(have.Addresses, ip) }), nil
}

// isUnseen tells of a machine that there is, and of which no address is known, as
// after a move to another management cluster, which status does not survive: an
// address of the record may be its own.
func isUnseen(m *infrav1.MaasMachine) bool {
	return m.DeletionTimestamp.IsZero() && !isLost(m) && ptr.Deref(m.Spec.ProviderID, "") != "" && len(ipsOf(m)) == 0
}

// anyControlPlane tells whether a test picks a machine of the control plane.
func anyControlPlane(machines []infrav1.MaasMachine, picks func(*infrav1.MaasMachine) bool) bool {
	return slices.ContainsFunc(machines, func(m infrav1.MaasMachine) bool { return isControlPlane(&m) && picks(&m) })
}

// isControlPlane tells that a machine is of the control plane.
func isControlPlane(m *infrav1.MaasMachine) bool {
	_, is := m.Labels[clusterv1.MachineControlPlaneLabel]
	return is
}

// addressesOf are the addresses of those machines of the control plane that a
// test picks, sorted: one of each, in the first of the subnets that it is in.
func addressesOf(machines []infrav1.MaasMachine, subnets []netip.Prefix, picks func(*infrav1.MaasMachine) bool) []netip.Addr {
	var found []netip.Addr
	for i := range machines {
		m := &machines[i]
		if !isControlPlane(m) || !picks(m) {
			continue
		}
		if ip, ok := endpointAddress(m, subnets); ok {
			found = append(found, ip)
		}
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found)
}

// endpointAddress is the address of a machine by which the API is reached. With
// no subnets it is the first external one, else the first.
func endpointAddress(m *infrav1.MaasMachine, subnets []netip.Prefix) (netip.Addr, bool) {
	addresses := ipsOf(m)
	for _, subnet := range subnets {
		if at := slices.IndexFunc(addresses, subnet.Contains); at >= 0 {
			return addresses[at], true
		}
	}
	if len(subnets) > 0 || len(addresses) == 0 {
		return netip.Addr{}, false
	}
	return addresses[0], true
}

// ipsOf are the addresses of a machine, external ones first.
func ipsOf(m *infrav1.MaasMachine) []netip.Addr {
	var external, internal []netip.Addr
	for _, a := range m.Status.Addresses {
		ip, err := netip.ParseAddr(a.Address)
		switch {
		case err != nil: // a name
		case a.Type == clusterv1.MachineExternalIP:
			external = append(external, ip)
		case a.Type == clusterv1.MachineInternalIP:
			internal = append(internal, ip)
		}
	}
	return slices.Concat(external, internal)
}

// allAddresses are all addresses of those machines of the cluster that a test picks.
func (s *clusterScope) allAddresses(picks func(*infrav1.MaasMachine) bool) []netip.Addr {
	var all []netip.Addr
	for i := range s.machines {
		if m := &s.machines[i]; picks(m) {
			all = append(all, ipsOf(m)...)
		}
	}
	return all
}

// isNoDomain tells that MAAS does not have the domain of a name, and so nothing in
// it.
func isNoDomain(err error) bool {
	spec, ok := errors.AsType[*engine.SpecError](err)
	return ok && spec.Field == "domain"
}
