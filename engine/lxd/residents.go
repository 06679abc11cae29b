package lxd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// VMs implements engine.Composer: the instances of all projects that the
// certificate may see, and by their MACs the machines that MAAS knows them by.
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

// vmsUnknownError says whose VMs are not known.
func vmsUnknownError(host engine.VMHost, err error) error {
	return fmt.Errorf("the VMs on host %s cannot be seen: %w: %w", host.Name, engine.ErrUnavailable, err)
}

// residentMachine is the machine of an instance, or as much of one as LXD tells.
func (h serverSurvey) residentMachine(i instance, machines []engine.Machine) engine.Machine {
	n := slices.IndexFunc(machines, func(m engine.Machine) bool { return haveCommonElement(machineMACs(m), i.macs) })
	if n < 0 {
		return engine.Machine{Hostname: i.name, HostName: h.Name}
	}
	return h.fillMachine(i, machines[n])
}

// CompleteMachine implements engine.Composer. MAAS shows the size of a VM as its last
// commissioning found it, and so not what it was given since: while an LXD that
// may have it does not answer, the size is not known. MAAS is not asked which LXD
// that is: it would be one call for each VM of a host that is down.
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

// belongsToHost tells whether MAAS turns the machine on by one of the hosts that are
// listed: the instances of others are not seen, so none of them is missing.
func belongsToHost(ctx context.Context, c *Composer, m engine.Machine) bool {
	power, err := c.Enlister.PowerInstanceOf(ctx, m.SystemID)
	if err != nil {
		return false
	}
	_, err = c.locateByPower(ctx, m, power)
	return err == nil
}

// likeliestMatch is the VM among the instances that have its MAC, as far as it is only
// to be shown: where it is known to be, or has its name, or is alone.
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

// fillMachine puts into the machine what the LXD says of its instance. Limits that
// are not set, or are shares of the host, say nothing.
func (h serverSurvey) fillMachine(i instance, m engine.Machine) engine.Machine {
	m.HostName = h.Name
	if !i.isVM {
		return m
	}
	m.Cores, m.HugePages, m.Profiles = int(i.cores), i.hugePages, i.profiles
	m.Config, m.Devices, m.AddedNICs = i.config, i.devices, i.addedNICs
	if memory := i.memoryMiB(h.memoryBytes); memory > 0 {
		m.MemoryMiB = memory
	}
	if len(m.Disks) == 0 || len(m.Disks) > len(i.volumes)+1 {
		return m // MAAS has not commissioned it, or somebody has added to it
	}
	m.Disks = append(slices.Clone(m.Disks), make([]engine.MachineDisk, len(i.volumes)+1-len(m.Disks))...) // that came since
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
