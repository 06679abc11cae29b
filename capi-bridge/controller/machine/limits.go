package machine

import (
	"github.com/maaslxd/maaslxd/capi-bridge/controller/demand"
)

// applyLimits checks the object's wishes against the limits of its identity,
// before anything is allocated or composed.
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

// checkHostLimits checks the LXD host that a machine becomes against the limits
// of the identity. Fields that the MaasCluster leaves open come from the
// machine itself.
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
