package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// vmSpec is the VM that the machine asks for.
func (r *MachineReconciler) vmSpec(ctx context.Context, s *machineScope) (engine.VMSpec, error) {
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
	if s.heir() {
		return s.inheritance(), nil
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

// deployment is what is to be installed.
func (r *MachineReconciler) deployment(ctx context.Context, s *machineScope) (*engine.Deployment, error) {
	data, err := r.bootstrapData(ctx, s)
	return &engine.Deployment{Image: s.want.Image, UserData: data, Ephemeral: s.want.InMemory}, err
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
	}
	if hosts.NICType == infrav1.NICTypeMacvlan {
		spec.LXD.Networks = map[string]cloudinit.Network{macvlan: {Kind: cloudinit.Macvlan, Parent: hosts.Parent}}
		return spec, nil
	}
	spec.LXD.Networks = map[string]cloudinit.Network{hosts.Parent: {Kind: cloudinit.Bridge}}
	if hosts.MakeBridge {
		spec.Bridge = &engine.BridgeSpec{Name: hosts.Parent}
	}
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
