package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// vmSpec is the VM that the machine asks for.
func (r *MachineReconciler) vmSpec(ctx context.Context, s *machineScope) (engine.VMSpec, error) {
	if err := s.limitSpec(); err != nil {
		return engine.VMSpec{}, err
	}
	deploy, err := r.deployment(ctx, s)
	if err != nil {
		return engine.VMSpec{}, err
	}
	vm := s.want.VM
	spec := engine.VMSpec{
		Name: s.vmName(), Host: vm.Host,
		Placement: placement(s.want),
		Cores:     s.want.Cores, PinnedCores: vm.PinnedCores, MemoryMiB: s.want.MemoryMiB, HugePages: vm.HugePages,
		Profile: vm.Profile, Pool: s.want.ResourcePool, Domain: vm.Domain, Tags: vm.Tags, Deploy: deploy,
		Disks: disks(vm),
	}
	spec.Placement.Zone, spec.Placement.Group = s.failureDomain(), s.group()
	spec.Interfaces, err = s.interfaces(ctx)
	return spec, err
}

// placement says which LXD hosts will do for a VM, in whatever zone.
func placement(want infrav1.ResolvedMachine) engine.Placement {
	return engine.Placement{Pool: want.ResourcePool, Tags: want.Tags, Project: want.VM.Project}
}

// selector says which bare metal will do, in whatever zone.
func selector(want infrav1.ResolvedMachine) engine.Selector {
	return engine.Selector{Pool: want.ResourcePool, Tags: want.Tags, MinCores: want.Cores, MinMemoryMiB: want.MemoryMiB, MinDiskGB: want.MinDiskGB}
}

// disks are those of a VM.
func disks(vm *infrav1.ResolvedVM) []engine.Disk {
	list := make([]engine.Disk, len(vm.Disks))
	for n, d := range vm.Disks {
		list[n] = engine.Disk{Name: diskName(n), SizeGB: d.SizeGB, Pool: d.Pool}
	}
	return list
}

func diskName(n int) string {
	if n == 0 {
		return "root"
	}
	return fmt.Sprintf("disk%d", n)
}

// metalSpec is the bare-metal machine that is asked for; of one that another
// provider made, only that it be taken over.
func (r *MachineReconciler) metalSpec(ctx context.Context, s *machineScope) (engine.MachineSpec, error) {
	if s.adoptionPending() {
		return s.inheritance(), nil
	}
	if err := s.limitSpec(); err != nil {
		return engine.MachineSpec{}, err
	}
	deploy, err := r.deployment(ctx, s)
	spec := engine.MachineSpec{Select: selector(s.want), Deploy: deploy}
	spec.Select.Zone = s.failureDomain()
	if s.want.StaticIP.IsValid() {
		fixed := engine.FixedAddress{Name: staticName, IP: s.want.StaticIP}
		if s.want.StaticSubnet.IsValid() {
			fixed.Subnet = s.want.StaticSubnet.String()
		}
		spec.Interfaces = []engine.FixedAddress{fixed}
	}
	return spec, err
}

// staticName is by what the engine's errors call the NIC with the static address
// of a bare-metal machine.
const staticName = "static"

func (s *machineScope) inheritance() engine.MachineSpec {
	return engine.MachineSpec{Machine: systemIDOf(s.maasMachine), Adopt: true, Inherit: true}
}

// deployment is what is to be installed, without swap: a kubelet does not start
// with it. MAAS sees to that for Ubuntu's images only. Bootstrap data that cloud-init
// does not run go to the image as they are.
func (r *MachineReconciler) deployment(ctx context.Context, s *machineScope) (*engine.Deployment, error) {
	data, err := r.bootstrapData(ctx, s)
	if err == nil && !strings.HasPrefix(s.want.Image, "ubuntu/") {
		if cloudinit.Runs(data) {
			data, err = withoutSwap(data)
		} else {
			annotate(s.maasMachine, SwapAnnotation, swapUnchanged)
		}
	}
	return &engine.Deployment{Image: s.want.Image, UserData: data, Ephemeral: s.want.InMemory, NoSwap: true}, err
}

// withoutSwap lets cloud-init turn swap off before it runs the bootstrap data.
func withoutSwap(data []byte) ([]byte, error) {
	merged, err := cloudinit.Merge(cloudinit.NoSwap(), data)
	if refused, ok := errors.AsType[*cloudinit.MergeError](err); ok {
		return nil, &engine.SpecError{Field: "deploy.user_data", Message: refused.Message, Hint: refused.Hint, Err: engine.ErrInvalid}
	}
	return merged, err
}

// storagePool and macvlan are what the LXD of a host calls what VMs use.
const (
	storagePool = cloudinit.DefaultPool
	macvlan     = "macvlan"
)

// hostSpec is the machine that becomes an LXD host. The bootstrap data and what
// sets LXD up are one first boot.
func (r *MachineReconciler) hostSpec(ctx context.Context, s *machineScope) (engine.HostSpec, error) {
	hosts := s.hosts
	if hosts == nil {
		return engine.HostSpec{}, s.noHostsWanted()
	}
	if err := s.site.NoCredentials; err != nil {
		return engine.HostSpec{}, err // no LXD could be told whom to trust
	}
	metal, err := r.metalSpec(ctx, s)
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
		spec.LXD.Networks = map[string]cloudinit.Network{macvlan: {Kind: cloudinit.Macvlan, Parent: hosts.Parent}}
		return spec, nil
	}
	spec.LXD.Networks = map[string]cloudinit.Network{hosts.Parent: {Kind: cloudinit.Bridge}}
	spec.Bridge = &engine.BridgeSpec{Name: hosts.Parent}
	return spec, nil
}

// noHostsWanted is why an LXD host is not gone on with.
func (s *machineScope) noHostsWanted() error {
	return &blocked{
		reason:  infrav1.InvalidSpecReason,
		message: "the machine was begun as an LXD host, and its MaasCluster no longer asks for hosts",
		hint:    "Set lxdConfig.enabled of the MaasCluster again, or delete the Machine.",
	}
}

// interfaces are the NICs of the VM.
func (s *machineScope) interfaces(ctx context.Context) ([]engine.Interface, error) {
	var nics []engine.Interface
	for _, want := range s.want.VM.Interfaces {
		if want.Mode == infrav1.LinkUp {
			return nil, &blocked{
				reason:  infrav1.InvalidSpecReason,
				message: fmt.Sprintf("spec.lxdConfig.network: the NIC %s cannot have the mode %s: MAAS gives each NIC of a VM an address, once it has commissioned it", want.Name, want.Mode),
				hint:    "Leave the mode out.",
			}
		}
		subnet, err := s.subnetOf(ctx, want)
		if err != nil {
			return nil, err
		}
		nics = append(nics, engine.Interface{Name: want.Name, Subnet: subnet, IP: want.IP})
	}
	return slices.Clip(nics), nil
}
