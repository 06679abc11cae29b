package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// initHost is the hint for a node whose LXD refuses us.
const initHost = "Run capi-bridge init-host on the node, with the certificate of this manager's LXD key; the manager must reach the LXD, too."

// registrationSpec describes the LXD of a node that already runs. The machine
// and its owner stay as they are: nothing is ever installed on it.
func (s specBuilder) registrationSpec(context.Context) (engine.HostSpec, error) {
	if s.hosts == nil {
		return engine.HostSpec{}, s.noHostsWantedError()
	}
	if err := s.site.CredentialsErr; err != nil {
		return engine.HostSpec{}, err
	}
	if err := s.checkHostLimits(); err != nil {
		return engine.HostSpec{}, err
	}
	return engine.HostSpec{
		Machine: engine.MachineSpec{Machine: s.SystemID(), Adopt: true},
		Project: cloudinit.DefaultProject, Credentials: s.site.Credentials, Zone: s.hosts.Zone, Pool: s.hosts.ResourcePool,
	}, nil
}

// reconcileRegistration registers the LXD of a node that already runs, and
// reports the progress. A VM host that somebody else registered serves as well,
// and stays as it is.
func (s lxdHost) reconcileRegistration(ctx context.Context, seen observation) time.Duration {
	m := s.MaasMachine
	switch {
	case !conditions.IsTrue(m, infrav1.MachineDeployedCondition), m.Annotations[ownership.HostAnnotation] == ownership.HostRegistered, s.hosts == nil && seen.registered:
		s.setLXDReadyCondition(seen.host, "")
		return 0
	case s.hosts == nil:
		s.clearRegistration()
		return 0
	case !seen.ours || !seen.finished:
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, "the machine does not bear this object's mark")
		return s.requeueWhileNew(infrav1.LXDReadyCondition, s.currentTime(), requeue.NodeAfter)
	case !seen.registered:
		other, err := s.findForeignHost(ctx, seen)
		switch {
		case err != nil:
			return s.reportError(err)
		case other.Name != "":
			delete(m.Annotations, ownership.HostAnnotation)
			s.setLXDReadyCondition(other, ", which somebody else registered")
			return 0
		}
	}
	s.fillDefaults(seen)
	if err := specBuilder(s).checkHostLimits(); err != nil {
		return s.reportError(err)
	}
	if !s.IsRegistering() {
		m.Annotations[ownership.HostAnnotation] = ownership.HostRegistering // the annotation is written before the registration
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, "the machine's LXD is about to be registered")
		return requeue.StaleCacheAfter
	}
	return s.register(ctx, seen)
}

// findForeignHost finds a VM host of the machine that we did not register. Its
// name is empty where there is none. A machine may have several VM hosts, one
// for each project.
func (s lxdHost) findForeignHost(ctx context.Context, seen observation) (engine.VMHost, error) {
	hosts, err := s.site.Inventory.Hosts(ctx)
	if err != nil {
		return engine.VMHost{}, fmt.Errorf("cannot list the VM hosts: %w", err)
	}
	n := slices.IndexFunc(hosts, func(h engine.VMHost) bool { return h.MachineID == seen.SystemID })
	if n < 0 {
		return engine.VMHost{}, nil
	}
	return hosts[n], nil
}

// register takes one step towards the VM host. The registration is finished
// once MAAS knows the resources of the LXD.
func (s lxdHost) register(ctx context.Context, seen observation) time.Duration {
	d, err := s.findDriver(ctx)
	if err != nil {
		return s.reportError(err)
	}
	seen, err = s.takeEngineStep(ctx, d)
	switch {
	case err != nil:
		return s.reportError(err)
	case seen.done && seen.registered:
		s.MaasMachine.Annotations[ownership.HostAnnotation] = ownership.HostRegistered
		s.setLXDReadyCondition(seen.host, "")
		ctrl.LoggerFrom(ctx).Info("registered the LXD of a node that ran already", "systemID", seen.SystemID, "host", seen.host.Name)
		return 0
	case seen.done: // the machine is somebody else's by now; the next reconcile reports that
		return 0
	case seen.reason == infrav1.WaitingForLXDReason:
		s.setFalse(infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason, problem.Problem{Message: seen.message}.WithHint(initHost).Message)
		return s.requeueWhileNew(infrav1.LXDReadyCondition, s.currentTime(), requeue.NodeAfter)
	}
	s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, fmt.Sprintf("%s: %s", seen.reason, seen.message))
	return requeue.WithJitter(seen.requeueAfter)
}

// skipForeignHost leaves a VM host alone that somebody else registered before
// us, while its machine is being removed.
func (s lxdHost) skipForeignHost(ctx context.Context, d driver) (driver, error) {
	if s.MaasMachine.Annotations[ownership.HostAnnotation] != ownership.HostRegistering {
		return d, nil
	}
	seen, err := d.observe(ctx, s.engineRef())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return d, nil
	case err != nil:
		return nil, err
	case seen.host.Name == "" || seen.registered:
		return d, nil
	}
	delete(s.MaasMachine.Annotations, ownership.HostAnnotation)
	return s.findDriver(ctx)
}
