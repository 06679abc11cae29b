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

// findDriver finds the MAAS of the machine, and takes the machine's kind in it.
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
			Message: fmt.Sprintf("the annotation %s says %q, which is no kind of machine", ownership.KindAnnotation, kind),
			Hint:    "It is one of vm, machine and host; it was changed by hand.",
		}
	}
}
