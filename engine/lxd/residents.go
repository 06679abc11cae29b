package lxd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// VMs implements engine.Composer. It returns the instances of all projects that the
// certificate may see, with their machines, found by MAC.
func (c *Composer) VMs(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	c.cache.expire(c.Now(), rereadAfter)
	all, err := c.currentInventory(ctx)
	if err != nil {
		return nil, err
	}
	var macs []string
	var silent []error
	asked := make([]serverSurvey, 0, len(hosts))
	for _, host := range hosts {
		h, err := all.surveyOf(host)
		if err != nil {
			silent = append(silent, vmsUnknownError(host, err))
			continue
		}
		asked = append(asked, h)
		for _, i := range h.instances {
			macs = append(macs, i.macs...)
		}
	}
	machines, err := c.Enlister.MachinesWithMACs(ctx, macs...)
	if err != nil {
		return nil, fmt.Errorf("cannot list the machines of the instances: %w", err)
	}
	var found []engine.Resident
	for _, h := range asked {
		for _, i := range h.instances {
			found = append(found, engine.Resident{Machine: h.residentMachine(i, machines), HostKey: h.MachineID})
		}
	}
	return found, errors.Join(silent...)
}

// vmsUnknownError says that the VMs of a host are not known.
func vmsUnknownError(host engine.VMHost, err error) error {
	return fmt.Errorf("the VMs on host %s cannot be seen: %w: %w", host.Name, engine.ErrUnavailable, err)
}

// residentMachine returns the machine of an instance. If MAAS has none, it returns what LXD
// shows.
func (h serverSurvey) residentMachine(i instance, machines []engine.Machine) engine.Machine {
	n := slices.IndexFunc(machines, func(m engine.Machine) bool { return haveCommonElement(machineMACs(m), i.macs) })
	if n < 0 {
		return engine.Machine{Hostname: i.name, HostName: h.Name}
	}
	return h.fillMachine(i, machines[n])
}

// CompleteMachine implements engine.Composer. MAAS shows the size of a VM as of its last
// commissioning, which misses later changes. While an LXD that may have the VM does not
// answer, the size is unknown.
//
// MAAS is not asked which LXD that is: that would be one call for each VM of a host that is
// down.
func (c *Composer) CompleteMachine(ctx context.Context, m engine.Machine) engine.Machine {
	all, err := c.currentInventory(ctx)
	if err != nil {
		all = c.cache.lastInventory()
	}
	at, known := c.knownLocation(m.SystemID)
	found := all.findInstances(machineMACs(m))
	if one, ok := likeliestMatch(found, at, m.Hostname); ok {
		return one.host.fillMachine(one.instance, m)
	}
	if known {
		m.HostName = at.server.Name
	}
	m.InstanceMissing = err == nil && len(found) == 0 && len(m.Interfaces) > 0 && all.isComplete() && belongsToHost(ctx, c, m)
	if len(found) > 0 || !all.isComplete() {
		m.Cores, m.MemoryMiB, m.Disks = 0, 0, nil
	}
	return m
}

// belongsToHost reports whether MAAS turns the machine on through a listed host. Instances
// of other hosts are not seen, so they do not count as missing.
func belongsToHost(ctx context.Context, c *Composer, m engine.Machine) bool {
	power, err := c.Enlister.PowerInstanceOf(ctx, m.SystemID)
	if err != nil {
		return false
	}
	_, err = c.locateByPower(ctx, m, power)
	return err == nil
}

// likeliestMatch chooses an instance to show among those with the VM's MAC: the one at the
// known location, else the one with its name, else the only one.
func likeliestMatch(found []instanceMatch, at location, name string) (instanceMatch, bool) {
	for _, fits := range []func(instanceMatch) bool{
		func(m instanceMatch) bool { return at.isSameInstance(m.location()) },
		func(m instanceMatch) bool { return m.instance.name == name },
		func(instanceMatch) bool { return true },
	} {
		n := slices.IndexFunc(found, fits)
		if n >= 0 && !slices.ContainsFunc(found[n+1:], fits) {
			return found[n], true
		}
	}
	return instanceMatch{}, false
}

// fillMachine copies what LXD shows of the instance into the machine. Limits that are not
// set, or are shares of the host, change nothing.
func (h serverSurvey) fillMachine(i instance, m engine.Machine) engine.Machine {
	m.HostName = h.Name
	if !i.isVM {
		return m
	}
	m.Cores, m.HugePages, m.Profiles = int(i.cores), i.hugePages, i.profiles
	m.Config, m.Devices, m.AddedNICs = i.config, i.devices, i.addedNICs
	m.Interfaces = slices.Clone(m.Interfaces)
	for n, nic := range m.Interfaces {
		m.Interfaces[n].Bridge = i.bridges[nic.MAC]
	}
	if memory := i.memoryMiB(h.memoryBytes); memory > 0 {
		m.MemoryMiB = memory
	}
	if len(m.Disks) == 0 || len(m.Disks) > len(i.volumes)+1 {
		return m // not commissioned by MAAS, or someone has added disks in MAAS
	}
	m.Disks = append(slices.Clone(m.Disks), make([]engine.MachineDisk, len(i.volumes)+1-len(m.Disks))...) // disks that were added since the last commissioning
	for n, v := range append([]volume{i.root}, i.volumes...) {
		if n > 0 {
			v.bytes = h.volumeBytes[volumeID(i.project, v.pool, v.name)]
		}
		if v.bytes > 0 {
			m.Disks[n].SizeGB, m.Disks[n].Pool = (v.bytes+bytesPerGB/2)/bytesPerGB, v.pool
		}
	}
	return m
}
