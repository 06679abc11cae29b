package machine

import (
	"context"
	"fmt"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/engine"
)

// findDriver finds the MAAS of the machine, and its driver there.
func (s *scope) findDriver(ctx context.Context) (driver, error) {
	site, err := controller.FindSite(ctx, s.Sites, s.maasCluster)
	if err != nil {
		return nil, err
	}
	s.site = site
	specs := specBuilder{s}
	switch kind := s.Kind(); kind {
	case ownership.KindVM:
		return kindDriver[engine.VMSpec, engine.VM]{site.VMs, specs.vmSpec, observationOfVM}, nil
	case ownership.KindMachine:
		if s.IsRegistering() {
			return kindDriver[engine.HostSpec, engine.Host]{site.RunningHosts, specs.registrationSpec, observationOfHost}, nil
		}
		return kindDriver[engine.MachineSpec, engine.BareMetal]{site.Machines, specs.bareMetalSpec, observationOfBareMetal}, nil
	case ownership.KindHost:
		return kindDriver[engine.HostSpec, engine.Host]{site.Hosts, specs.hostSpec, observationOfHost}, nil
	default:
		return nil, &problem.BlockedError{
			Reason:  infrav1.InvalidSpecReason,
			Message: fmt.Sprintf("the annotation %s has the value %q, which is not a kind of machine", ownership.KindAnnotation, kind),
			Hint:    "Somebody changed it by hand; set it back to vm, machine or host.",
		}
	}
}
