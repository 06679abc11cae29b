package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// driver finds the MAAS of the machine, and takes the machine's kind in it.
func (r *MachineReconciler) driver(ctx context.Context, s *machineScope) (driver, error) {
	site, err := siteOf(ctx, r.Sites, s.maasCluster)
	if err != nil {
		return nil, err
	}
	s.site = site
	switch kind := s.kind(); kind {
	case kindVM:
		return driven[engine.VMSpec, engine.VM]{site.VMs, func(ctx context.Context) (engine.VMSpec, error) { return r.vmSpec(ctx, s) }, seeVM}, nil
	case kindMachine:
		if s.joining() {
			return driven[engine.HostSpec, engine.Host]{site.RunningHosts, s.joiningSpec, seeHost}, nil
		}
		return driven[engine.MachineSpec, engine.BareMetal]{site.Machines, func(ctx context.Context) (engine.MachineSpec, error) { return r.metalSpec(ctx, s) }, seeMetal}, nil
	case kindHost:
		return driven[engine.HostSpec, engine.Host]{site.Hosts, func(ctx context.Context) (engine.HostSpec, error) { return r.hostSpec(ctx, s) }, seeHost}, nil
	default:
		return nil, &blocked{
			reason:  infrav1.InvalidSpecReason,
			message: fmt.Sprintf("the annotation %s says %q, which is no kind of machine", KindAnnotation, kind),
			hint:    "It is one of vm, machine and host; it was changed by hand.",
		}
	}
}

// Keys of a Secret with bootstrap data.
const (
	bootstrapValue  = "value"
	bootstrapFormat = "format"
	cloudConfig     = "cloud-config"
)

// bootstrapData reads the machine's first boot, past the cache.
func (r *MachineReconciler) bootstrapData(ctx context.Context, s *machineScope) ([]byte, error) {
	name := s.machine.Spec.Bootstrap.DataSecretName
	if name == nil {
		return nil, &blocked{
			reason: infrav1.WaitingForBootstrapDataReason, passing: true,
			message: fmt.Sprintf("the bootstrap data of Machine %s are not there yet", s.machine.Name),
		}
	}
	secret := &corev1.Secret{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: *name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &blocked{
			reason: infrav1.WaitingForBootstrapDataReason, after: retryAfter,
			message: fmt.Sprintf("there is no Secret %s with the bootstrap data of Machine %s", *name, s.machine.Name),
		}
	case err != nil:
		return nil, &blocked{
			reason: infrav1.WaitingForBootstrapDataReason, after: retryAfter,
			message: fmt.Sprintf("cannot read the Secret %s with the bootstrap data of Machine %s: %v", *name, s.machine.Name, err),
			hint:    "The API server says so, not MAAS: see that the manager may get the Secrets of namespace " + s.machine.Namespace + ".",
		}
	}
	if format := string(secret.Data[bootstrapFormat]); format != "" && format != cloudConfig {
		return nil, &blocked{
			reason:  infrav1.InvalidSpecReason,
			message: fmt.Sprintf("the bootstrap data of Machine %s are of the format %q", s.machine.Name, format),
			hint:    "What MAAS installs boots with cloud-init: set the format of the bootstrap config to cloud-config.",
		}
	}
	data := secret.Data[bootstrapValue]
	if len(data) == 0 {
		return nil, &blocked{
			reason: infrav1.WaitingForBootstrapDataReason, after: retryAfter,
			message: fmt.Sprintf("the Secret %s with the bootstrap data of Machine %s has no key %q", *name, s.machine.Name, bootstrapValue),
		}
	}
	return data, nil
}
