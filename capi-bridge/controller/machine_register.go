package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// The values of HostAnnotation.
const (
	hostBegun      = "registering" // by us, from before it is done
	hostRegistered = "registered"
)

// initHost is what a node lacks whose LXD does not let us in.
const initHost = "Run capi-bridge init-host on the node, with the certificate of this manager's LXD key; the manager must reach the LXD, too."

// joins tells that the machine is to be an LXD host and was not begun as one: its
// cluster has asked for hosts since, or another provider made the machine.
func (s *machineScope) joins() bool { return s.hosts != nil && s.kind() == kindMachine }

// joining tells that its LXD was registered by us, or is about to be.
func (s *machineScope) joining() bool { return s.maasMachine.Annotations[HostAnnotation] != "" }

// joiningSpec is the LXD of a node that runs already. The machine stays as it is,
// and whose it is: nothing is ever installed on it.
func (s *machineScope) joiningSpec(context.Context) (engine.HostSpec, error) {
	if s.hosts == nil {
		return engine.HostSpec{}, s.noHostsWanted()
	}
	if err := s.site.NoCredentials; err != nil {
		return engine.HostSpec{}, err
	}
	if err := s.limitHosts(); err != nil {
		return engine.HostSpec{}, err
	}
	return engine.HostSpec{
		Machine: engine.MachineSpec{Machine: systemIDOf(s.maasMachine), Adopt: true},
		Project: cloudinit.DefaultProject, Credentials: s.site.Credentials, Zone: s.hosts.Zone, Pool: s.hosts.ResourcePool,
	}, nil
}

// join makes the LXD of a node known that runs already, and says how far that is.
// A VM host that somebody else registered is left as it is, and will do.
func (r *MachineReconciler) join(ctx context.Context, s *machineScope, seen sighting) time.Duration {
	m := s.maasMachine
	switch {
	case !conditions.IsTrue(m, infrav1.MachineDeployedCondition), m.Annotations[HostAnnotation] == hostRegistered, s.hosts == nil && seen.registered:
		s.hostState(seen.host, "")
		return 0
	case s.hosts == nil:
		s.noHost()
		return 0
	case !seen.ours || !seen.finished:
		s.lacks(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, "the machine does not say that it is this object's")
		return s.whileFresh(infrav1.LXDReadyCondition, r.now(), nodeAfter)
	case !seen.registered:
		other, err := s.hostOfOthers(ctx, seen)
		switch {
		case err != nil:
			return s.hostFailing(err)
		case other.Name != "":
			delete(m.Annotations, HostAnnotation)
			s.hostState(other, ", which somebody else registered")
			return 0
		}
	}
	s.deepen(seen)
	if err := s.limitHosts(); err != nil {
		return s.hostFailing(err)
	}
	if !s.joining() {
		m.Annotations[HostAnnotation] = hostBegun // it is written before anything is done
		s.lacks(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, "its LXD is about to be registered")
		return rereadAfter
	}
	return r.register(ctx, s, seen)
}

// hostOfOthers finds a VM host of the machine's that is not of our making; it has
// no name where there is none. The machine may have several, of a project each.
func (s *machineScope) hostOfOthers(ctx context.Context, seen sighting) (engine.VMHost, error) {
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
func (r *MachineReconciler) register(ctx context.Context, s *machineScope, seen sighting) time.Duration {
	d, err := r.driver(ctx, s)
	if err != nil {
		return s.hostFailing(err)
	}
	seen, err = r.step(ctx, s, d)
	switch {
	case err != nil:
		return s.hostFailing(err)
	case seen.done && seen.registered:
		s.maasMachine.Annotations[HostAnnotation] = hostRegistered
		s.hostState(seen.host, "")
		ctrl.LoggerFrom(ctx).Info("registered the LXD of a node that ran already", "systemID", seen.SystemID, "host", seen.host.Name)
		return 0
	case seen.done: // it is somebody else's by now, which the next look says
		return 0
	case seen.reason == infrav1.WaitingForLXDReason:
		s.lacks(infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason, problem{message: seen.message}.with(initHost).message)
		return s.whileFresh(infrav1.LXDReadyCondition, r.now(), nodeAfter)
	}
	s.lacks(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, fmt.Sprintf("%s: %s", seen.reason, seen.message))
	return jittered(seen.after)
}

// noHost forgets that the machine was to be an LXD host, of which nothing was done.
func (s *machineScope) noHost() {
	delete(s.maasMachine.Annotations, HostAnnotation)
	conditions.Delete(s.maasMachine, infrav1.LXDReadyCondition)
}

// disclaim leaves a VM host alone, while the machine goes, that somebody else
// registered before we did.
func (r *MachineReconciler) disclaim(ctx context.Context, s *machineScope, d driver) (driver, error) {
	if s.maasMachine.Annotations[HostAnnotation] != hostBegun {
		return d, nil
	}
	seen, err := d.observe(ctx, s.ref())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return d, nil
	case err != nil:
		return nil, err
	case seen.host.Name == "" || seen.registered:
		return d, nil
	}
	delete(s.maasMachine.Annotations, HostAnnotation)
	return r.driver(ctx, s)
}
