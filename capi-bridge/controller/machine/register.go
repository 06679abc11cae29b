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

// initHost is what a node lacks whose LXD does not let us in.
const initHost = "Run capi-bridge init-host on the node, with the certificate of this manager's LXD key; the manager must reach the LXD, too."

// registrationSpec is the LXD of a node that runs already. The machine stays as it is,
// and whose it is: nothing is ever installed on it.
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

// reconcileRegistration makes the LXD of a node known that runs already, and says how far that is.
// A VM host that somebody else registered is left as it is, and will do.
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
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, "the machine does not say that it is this object's")
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
		m.Annotations[ownership.HostAnnotation] = ownership.HostRegistering // it is written before anything is done
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, "its LXD is about to be registered")
		return requeue.StaleCacheAfter
	}
	return s.register(ctx, seen)
}

// findForeignHost finds a VM host of the machine's that is not of our making; it has
// no name where there is none. The machine may have several, of a project each.
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

// register takes one step towards the VM host. It is finished once MAAS knows what
// the LXD has.
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
	case seen.done: // it is somebody else's by now, which the next look says
		return 0
	case seen.reason == infrav1.WaitingForLXDReason:
		s.setFalse(infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason, problem.Problem{Message: seen.message}.WithHint(initHost).Message)
		return s.requeueWhileNew(infrav1.LXDReadyCondition, s.currentTime(), requeue.NodeAfter)
	}
	s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, fmt.Sprintf("%s: %s", seen.reason, seen.message))
	return requeue.WithJitter(seen.requeueAfter)
}

// skipForeignHost leaves a VM host alone, while the machine goes, that somebody else
// registered before we did.
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
