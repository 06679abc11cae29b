package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/demand"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// specBuilder turns the object into a spec of the engine.
type specBuilder struct{ *scope }

// vmSpec returns the VM that the machine asks for.
func (s specBuilder) vmSpec(ctx context.Context) (engine.VMSpec, error) {
	if err := s.applyLimits(); err != nil {
		return engine.VMSpec{}, err
	}
	deploy, err := s.deployment(ctx)
	if err != nil {
		return engine.VMSpec{}, err
	}
	vm := s.want.VM
	spec := engine.VMSpec{
		Name: s.VMName(), Host: vm.Host,
		Placement: demand.Placement(s.want),
		Cores:     s.want.Cores, PinnedCores: vm.PinnedCores, MemoryMiB: s.want.MemoryMiB, HugePages: vm.HugePages,
		Profile: vm.Profile, Pool: s.want.ResourcePool, Domain: vm.Domain, Tags: vm.Tags, Deploy: deploy,
		Disks: demand.Disks(vm),
	}
	spec.Placement.Zone, spec.Placement.Group = s.failureDomain(), s.antiAffinityGroup()
	spec.Interfaces, err = s.interfaces(ctx)
	return spec, err
}

// bareMetalSpec returns the bare-metal machine that the object asks for. For a
// machine of another provider it only asks for the take-over.
func (s specBuilder) bareMetalSpec(ctx context.Context) (engine.MachineSpec, error) {
	if s.IsAdoptionPending() {
		return s.adoptionSpec(), nil
	}
	if err := s.applyLimits(); err != nil {
		return engine.MachineSpec{}, err
	}
	deploy, err := s.deployment(ctx)
	spec := engine.MachineSpec{Select: demand.Selector(s.want), Deploy: deploy}
	spec.Select.Zone = s.failureDomain()
	if s.want.StaticIP.IsValid() {
		fixed := engine.FixedAddress{Name: problem.StaticNIC, IP: s.want.StaticIP}
		if s.want.StaticSubnet.IsValid() {
			fixed.Subnet = s.want.StaticSubnet.String()
		}
		spec.Interfaces = []engine.FixedAddress{fixed}
	}
	return spec, err
}

// deployment returns what MAAS installs, with swap turned off: a kubelet does
// not start with swap. MAAS turns it off for Ubuntu's images only. Bootstrap
// data that cloud-init does not run go to the image unchanged.
func (s specBuilder) deployment(ctx context.Context) (*engine.Deployment, error) {
	data, err := s.bootstrapData(ctx)
	if err == nil && !strings.HasPrefix(s.want.Image, "ubuntu/") {
		if cloudinit.CanRun(data) {
			data, err = prependNoSwap(data)
		} else {
			annotations.AddAnnotations(s.MaasMachine, map[string]string{ownership.SwapAnnotation: ownership.SwapUnchanged})
		}
	}
	return &engine.Deployment{Image: s.want.Image, UserData: data, Ephemeral: s.want.InMemory, NoSwap: true}, err
}

// prependNoSwap makes cloud-init turn swap off before it runs the bootstrap
// data.
func prependNoSwap(data []byte) ([]byte, error) {
	merged, err := cloudinit.Merge(cloudinit.NoSwap(), data)
	if refused, ok := errors.AsType[*cloudinit.MergeError](err); ok {
		return nil, &engine.SpecError{Field: fieldpath.New("deploy", "user_data"), Message: refused.Message, Hint: refused.Hint, Err: engine.ErrInvalid}
	}
	return merged, err
}

// storagePool and macvlan are the names that VMs use in the LXD of a host.
const (
	storagePool    = cloudinit.DefaultPool
	macvlanNetwork = "macvlan"
)

// hostSpec returns the machine that becomes an LXD host. The bootstrap data and
// the setup of LXD are one first boot.
func (s specBuilder) hostSpec(ctx context.Context) (engine.HostSpec, error) {
	hosts := s.hosts
	if hosts == nil {
		return engine.HostSpec{}, s.noHostsWantedError()
	}
	if err := s.site.CredentialsErr; err != nil {
		return engine.HostSpec{}, err // without credentials the LXD would trust nobody
	}
	metal, err := s.bareMetalSpec(ctx)
	if err != nil {
		return engine.HostSpec{}, err
	}
	spec := engine.HostSpec{
		Machine: metal, Project: cloudinit.DefaultProject, Credentials: s.site.Credentials,
		Zone: cmp.Or(hosts.Zone, s.failureDomain()), Pool: cmp.Or(hosts.ResourcePool, s.want.ResourcePool),
		LXD: cloudinit.Host{
			StoragePools: map[string]cloudinit.StoragePool{storagePool: {Driver: cloudinit.Driver(hosts.StorageBackend), SizeGB: hosts.StorageGB}},
		},
		PoolPercent: hosts.StoragePercent,
	}
	if hosts.NICType == infrav1.NICTypeMacvlan {
		spec.LXD.Networks = map[string]cloudinit.Network{macvlanNetwork: {Kind: cloudinit.Macvlan, Parent: hosts.Parent}}
		return spec, nil
	}
	spec.LXD.Networks = map[string]cloudinit.Network{hosts.Parent: {Kind: cloudinit.Bridge}}
	spec.Bridge = &engine.BridgeSpec{Name: hosts.Parent}
	return spec, nil
}

// noHostsWantedError says why the manager does not continue an LXD host.
func (s specBuilder) noHostsWantedError() error {
	return &problem.BlockedError{
		Reason:  infrav1.InvalidSpecReason,
		Message: "the machine was begun as an LXD host, but its MaasCluster no longer asks for hosts",
		Hint:    "Set lxdConfig.enabled of the MaasCluster again, or delete the Machine.",
	}
}

// interfaces returns the NICs of the VM.
func (s specBuilder) interfaces(ctx context.Context) ([]engine.Interface, error) {
	var nics []engine.Interface
	for _, want := range s.want.VM.Interfaces {
		if want.Mode == infrav1.LinkUp {
			return nil, &problem.BlockedError{
				Reason:  infrav1.InvalidSpecReason,
				Message: fmt.Sprintf("spec.lxdConfig.network: the NIC %s cannot have the mode %s: MAAS gives each NIC of a VM an address after commissioning", want.Name, want.Mode),
				Hint:    "Leave out mode.",
			}
		}
		subnet, err := nicSubnets(s).findSubnet(ctx, want)
		if err != nil {
			return nil, err
		}
		nics = append(nics, engine.Interface{Name: want.Name, Subnet: subnet, IP: want.IP})
	}
	return slices.Clip(nics), nil
}

// Keys of a Secret with bootstrap data.
const (
	bootstrapValueKey  = "value"
	bootstrapFormatKey = "format"
	cloudConfigFormat  = "cloud-config"
)

// bootstrapData reads the machine's bootstrap data, past the cache.
func (s specBuilder) bootstrapData(ctx context.Context) ([]byte, error) {
	name := s.machine.Spec.Bootstrap.DataSecretName
	if name == nil {
		return nil, &problem.BlockedError{
			Reason: infrav1.WaitingForBootstrapDataReason, Transient: true,
			Message: fmt.Sprintf("the bootstrap data of Machine %s are not there yet", s.machine.Name),
		}
	}
	secret := &corev1.Secret{}
	err := s.APIReader.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: *name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &problem.BlockedError{
			Reason: infrav1.WaitingForBootstrapDataReason, RetryAfter: requeue.RetryAfter,
			Message: fmt.Sprintf("there is no Secret %s with the bootstrap data of Machine %s", *name, s.machine.Name),
		}
	case err != nil:
		return nil, &problem.BlockedError{
			Reason: infrav1.WaitingForBootstrapDataReason, RetryAfter: requeue.RetryAfter,
			Message: fmt.Sprintf("cannot read the Secret %s with the bootstrap data of Machine %s: %v", *name, s.machine.Name, err),
			Hint:    "The API server refused it, not MAAS. Let the manager get the Secrets of namespace " + s.machine.Namespace + ".",
		}
	}
	if format := string(secret.Data[bootstrapFormatKey]); format != "" && format != cloudConfigFormat {
		return nil, &problem.BlockedError{
			Reason:  infrav1.InvalidSpecReason,
			Message: fmt.Sprintf("the bootstrap data of Machine %s have the format %q, which cloud-init cannot run", s.machine.Name, format),
			Hint:    "Set the format of the bootstrap config to cloud-config: MAAS boots machines with cloud-init.",
		}
	}
	data := secret.Data[bootstrapValueKey]
	if len(data) == 0 {
		return nil, &problem.BlockedError{
			Reason: infrav1.WaitingForBootstrapDataReason, RetryAfter: requeue.RetryAfter,
			Message: fmt.Sprintf("the Secret %s with the bootstrap data of Machine %s has no key %q", *name, s.machine.Name, bootstrapValueKey),
		}
	}
	return data, nil
}

// antiAffinityGroup names the group of machines that the VM keeps apart from:
// its control plane, or its MachineDeployment. Empty: none.
func (s specBuilder) antiAffinityGroup() string {
	if s.machine == nil {
		return ""
	}
	cluster := s.machine.Namespace + "/" + s.machine.Spec.ClusterName
	if s.isControlPlane() {
		return cluster + "/control-plane"
	}
	if name := s.machine.Labels[clusterv1.MachineDeploymentNameLabel]; name != "" {
		return cluster + "/machine-deployments/" + name
	}
	return ""
}
