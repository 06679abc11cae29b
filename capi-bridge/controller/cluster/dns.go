package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/demand"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// apiRecord reconciles the DNS record of a cluster's API.
type apiRecord struct{ *scope }

// endpointTTLSeconds is how long resolvers may cache the API's name. It is
// short, so that clients soon forget a control-plane machine that goes.
const endpointTTLSeconds = 10

// reconcile keeps the record of the API's name up to date, where the record is
// ours. It reports whether new machines can find the API by that name. The
// error is the API server's.
func (s apiRecord) reconcile(ctx context.Context) (bool, error) {
	host := s.maasCluster.Spec.ControlPlaneEndpoint.Host
	name, published := s.dnsName()
	claim := nameClaim(s)
	switch {
	case host == "":
		s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionFalse, infrav1.WaitForDNSNameReason,
			"the annotation "+infrav1.CustomEndpointAnnotation+" says that somebody else publishes the API's name; set spec.controlPlaneEndpoint.host")
		return false, nil
	case !published:
		s.maasCluster.Status.Network.DNSName = host
		s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionTrue, infrav1.DNSReadyReason, host+" is not in the domain "+s.maasCluster.Spec.DNSDomain+", or somebody else publishes it")
		return true, nil
	}
	if !s.checkDomainAllowed() {
		return false, nil
	}
	if !s.checkDomainExists(ctx) {
		return false, nil
	}
	if may, err := claim.checkRivals(ctx, name); !may || err != nil {
		return false, err
	}
	if !claim.claimName(ctx, name) {
		return false, nil
	}
	s.maasCluster.Status.Network.DNSName = host
	return true, s.publish(ctx, name)
}

// checkDomainAllowed reports whether the identity allows the cluster's domain.
// Otherwise it sets a condition.
func (s apiRecord) checkDomainAllowed() bool {
	_, err := demand.PickAllowed("spec.dnsDomain", s.maasCluster.Spec.DNSDomain, s.site.Limits.Domains)
	if err != nil {
		s.reportError(infrav1.DNSReadyCondition, err)
	}
	return err == nil
}

// checkDomainExists reports whether MAAS has the cluster's domain.
func (s apiRecord) checkDomainExists(ctx context.Context) bool {
	domain := s.maasCluster.Spec.DNSDomain
	has, err := s.listHasName(ctx, s.site.Names.Domains, domain)
	switch {
	case err != nil:
		s.reportError(infrav1.DNSReadyCondition, err)
	case !has:
		s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionFalse, infrav1.DNSDomainNotFoundReason,
			fmt.Sprintf("MAAS has no domain %s; create it in MAAS, because dnsDomain cannot change", domain))
		s.requeueWithin(requeue.WithJitter(requeue.RetryAfter))
	}
	return has && err == nil
}

// listHasName looks for a name in one of MAAS's lists. It reads the list again
// where the name is missing: somebody may just have created it.
func (s apiRecord) listHasName(ctx context.Context, list func(context.Context) ([]string, error), name string) (bool, error) {
	names, err := list(ctx)
	if err == nil && !slices.Contains(names, name) {
		s.site.Names.Refresh()
		names, err = list(ctx)
	}
	return slices.Contains(names, name), err
}

// publish writes the addresses of the control plane, if there are any. It never
// empties a record: without a known address, the published ones stay. It
// changes nothing while the Cluster is being deleted: MAAS takes out the
// addresses of machines that it releases, and the rest goes with the
// MaasCluster.
func (s apiRecord) publish(ctx context.Context, name engine.DNSName) error {
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
	addresses, err := s.addressesToPublish(ctx, name, subnets)
	if err != nil {
		s.reportError(infrav1.DNSReadyCondition, err)
		return nil
	}
	if len(addresses) == 0 {
		s.reportUnpublished(preferred)
		return nil
	}
	if err := s.update(ctx, name, addresses); err != nil {
		s.reportError(infrav1.DNSReadyCondition, err)
		return nil
	}
	s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionTrue, infrav1.DNSReadyReason, fmt.Sprintf("%s points to %s", name, joinAddresses(addresses)))
	return nil
}

// reportUnpublished says why no machine is published. A machine that is being
// deployed may still get an address in the preferred subnets. A serving machine
// will not.
func (s apiRecord) reportUnpublished(preferred []string) {
	if len(endpoint.ServingAddresses(s.machines, nil)) == 0 {
		message := "no machine of the control plane has an address yet"
		if endpoint.HasControlPlaneMachine(s.machines, endpoint.IsProvisionedNotDeleting) && !endpoint.HasControlPlaneMachine(s.machines, endpoint.IsServing) {
			message = "the cluster has lost all machines of the control plane that served; the published addresses stay until you delete the machines. See MachineDeployed of the MaasMachines"
		}
		s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionFalse, infrav1.WaitingForControlPlaneReason, message)
		return
	}
	reason := infrav1.WaitingForControlPlaneReason
	if endpoint.HasControlPlaneMachine(s.machines, endpoint.IsServing) {
		reason = infrav1.InvalidSpecReason
	}
	s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionFalse, reason, fmt.Sprintf(
		"no machine of the control plane has an address in the preferred subnets (%s); correct spec.preferredSubnets, or the ConfigMap %s of the namespace",
		strings.Join(preferred, ", "), infrav1.PreferredSubnetConfigMap))
}

// update makes the name point to the addresses, unless it is known to do so.
func (s apiRecord) update(ctx context.Context, name engine.DNSName, addresses []netip.Addr) error {
	is := endpoint.Publication{Site: s.site, Name: name, Addresses: addresses, PublishedAt: s.currentTime()}
	if had, ok := s.Published.KnownAddresses(s.maasCluster, s.site, name, is.PublishedAt); ok && slices.Equal(had, addresses) {
		return nil
	}
	s.Published.Forget(client.ObjectKeyFromObject(s.maasCluster))
	changed, err := s.site.DNS.PublishDNS(ctx, name, engine.DNSRecord{Addresses: addresses, TTLSeconds: endpointTTLSeconds})
	if err != nil {
		return err
	}
	if changed {
		ctrl.LoggerFrom(ctx).Info("published the API of the cluster", "name", name.String(), "addresses", addresses)
	}
	s.Published.Remember(s.maasCluster, is)
	return nil
}

// addressesToPublish returns the addresses for the API's name. Where all
// control-plane machines are being deleted, those still in the record stay; one
// that was taken out does not come back. Addresses of lost machines do not
// count. With no address left, the record stays as it is.
func (s apiRecord) addressesToPublish(ctx context.Context, name engine.DNSName, subnets []netip.Prefix) ([]netip.Addr, error) {
	serving := endpoint.ServingAddresses(s.machines, subnets)
	unseen := endpoint.HasControlPlaneMachine(s.machines, hasUnknownAddress)
	if len(serving) > 0 && !unseen {
		return serving, nil
	}
	leaving := endpoint.ControlPlaneAddresses(s.machines, subnets, func(m *infrav1.MaasMachine) bool { return !m.DeletionTimestamp.IsZero() && !endpoint.IsLost(m) })
	if len(leaving) == 0 && !unseen {
		return nil, nil
	}
	have, err := s.site.DNS.DNSRecord(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, err
	}
	if unseen {
		left := s.addressesOfMachines(func(m *infrav1.MaasMachine) bool {
			return !m.DeletionTimestamp.IsZero() || endpoint.IsLost(m) || endpoint.IsDown(m)
		})
		kept := slices.DeleteFunc(slices.Clone(have.Addresses), func(ip netip.Addr) bool { return slices.Contains(left, ip) })
		serving = append(serving, kept...)
		slices.SortFunc(serving, netip.Addr.Compare)
	}
	if len(serving) > 0 {
		return slices.Compact(serving), nil
	}
	return slices.DeleteFunc(leaving, func(ip netip.Addr) bool { return !slices.Contains(have.Addresses, ip) }), nil
}

// hasUnknownAddress reports whether a machine exists whose addresses are
// unknown. That is so after a move to another management cluster, because the
// status does not survive it. An address in the record may belong to such a
// machine.
func hasUnknownAddress(m *infrav1.MaasMachine) bool {
	return m.DeletionTimestamp.IsZero() && !endpoint.IsLost(m) && ptr.Deref(m.Spec.ProviderID, "") != "" && len(endpoint.IPs(m)) == 0
}

// isDomainNotFound reports whether MAAS does not have the domain of a name, and
// so no record in it.
func isDomainNotFound(err error) bool {
	spec, ok := errors.AsType[*engine.SpecError](err)
	return ok && spec.Field.Equal(fieldpath.New("dns", "domain"))
}
