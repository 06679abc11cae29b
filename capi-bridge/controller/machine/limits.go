package machine

import (
	"github.com/maaslxd/maaslxd/capi-bridge/controller/demand"
)

// applyLimits keeps what the object asks for to what its identity allows, before
// anything is allocated or composed.
func (s specBuilder) applyLimits() error {
	zone := ""
	if s.machine != nil {
		zone = s.machine.Spec.FailureDomain
	}
	if err := demand.ApplyLimits(s.site.Limits, &s.want, zone, s.maasCluster.Spec.DNSDomain); err != nil || s.hosts == nil {
		return err
	}
	return s.checkHostLimits()
}

// checkHostLimits keeps the LXD host that a machine becomes to what the identity allows. What
// the MaasCluster leaves open is the machine's own.
func (s specBuilder) checkHostLimits() error {
	hosts, limits := *s.hosts, s.site.Limits
	var err error
	if hosts.Zone != "" {
		if _, err = demand.PickAllowed("lxdConfig.zone of the MaasCluster", hosts.Zone, limits.Zones); err != nil {
			return err
		}
	}
	if hosts.ResourcePool != "" {
		_, err = demand.PickAllowed("lxdConfig.resourcePool of the MaasCluster", hosts.ResourcePool, limits.ResourcePools)
	}
	return err
}
