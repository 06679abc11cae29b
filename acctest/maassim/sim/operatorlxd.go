package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// AddInstance makes a VM in the LXD of a host behind MAAS's back. The next refresh adopts
// it. The default project is the host's; cores and memory are 1 and 2048 MiB by default.
// If the LXD has a bridge, the VM has one NIC. Its MAC is made up unless you give one.
func (o *operator) AddInstance(i Instance) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	l, err := o.findLXD(i.Host)
	if err != nil {
		return err
	}
	i.Project = cmp.Or(i.Project, o.projectOf(i.Host))
	if problem := rest.InstanceNameProblem(i.Name); problem != "" {
		return fmt.Errorf("cannot add instance %q: %s", i.Name, problem)
	}
	l.SyncInstances()
	if l.Projects[i.Project][i.Name] != nil {
		return fmt.Errorf("cannot add instance %q: it exists", i.Name)
	}
	subnets := l.Subnets[:min(1, len(l.Subnets))]
	if len(i.MACs) > len(subnets) {
		return fmt.Errorf("cannot add instance %q: it has %d NICs, but macs has %d", i.Name, len(subnets), len(i.MACs))
	}
	if i.Cores < 0 || i.MemoryMiB < 0 || i.DiskBytes < 0 {
		return fmt.Errorf("cannot add instance %q: cores, memory_mib and disk_bytes must be positive", i.Name)
	}
	if l.Lent != nil {
		return driver.AddForeignVM(o.world, l, driver.ForeignVM{Project: i.Project, Name: i.Name, Cores: i.Cores, MemoryMiB: i.MemoryMiB, Running: i.Running, MACs: i.MACs}, subnets)
	}
	made := hosts.AddInstance(o.world, l, i.Project, i.Name, cmp.Or(i.Cores, 1), cmp.Or(i.MemoryMiB, 2048),
		[]world.Volume{{SizeBytes: cmp.Or(i.DiskBytes, 8e9), Pool: l.DefaultPool()}}, subnets)
	made.Running = i.Running
	for n, mac := range i.MACs {
		made.MACs[n] = strings.ToLower(mac)
	}
	return nil
}

// RemoveInstance removes a VM from an LXD behind MAAS's back. The default project is the
// host's.
func (o *operator) RemoveInstance(host, project, name string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	i, err := o.findInstance(host, project, name)
	if err != nil {
		return err
	}
	i.Server.Remove(i)
	return nil
}

// SetInstanceRunning starts or stops a VM in an LXD behind MAAS's back. MAAS continues to
// show the old power state. The default project is the host's.
func (o *operator) SetInstanceRunning(host, project, name string, running bool) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	i, err := o.findInstance(host, project, name)
	if err != nil {
		return err
	}
	i.SetRunning(running)
	return nil
}

// RefreshHost is the Refresh button of MAAS's UI. It lists the instances first. It updates
// the machines later, after Latency.Refresh, in another transaction. A VM composed in
// between is not in the list, so MAAS removes it with its instance. The API's refresh does
// not do that.
func (o *operator) RefreshHost(name string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	o.keeper.BeginHandler()
	defer o.keeper.EndHandler()
	w := o.world
	h := w.HostNamed(name)
	if h == nil {
		return fmt.Errorf("no VM host %q", name)
	}
	return hosts.RefreshFromUI(w, h)
}

// TrustCertificate makes the LXD of a host trust a PEM certificate, like "lxc config trust
// add" on the host.
func (o *operator) TrustCertificate(host, certificate string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	l, err := o.findLXD(host)
	if err != nil {
		return err
	}
	t := daemon.Trust{Certificate: certificate}
	if l.Lent != nil {
		if err := driver.LentTo(l).Trust(t); err != nil {
			return err
		}
	}
	l.Trusted = append(l.Trusted, t)
	return nil
}

// DistrustCertificate removes a PEM certificate from the trust store of a host's LXD, like
// "lxc config trust remove" on the host.
func (o *operator) DistrustCertificate(host, certificate string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	l, err := o.findLXD(host)
	if err != nil {
		return err
	}
	if _, known := daemon.FindTrust(l.Trusted, certificate); !known {
		return fmt.Errorf("the LXD of %s does not trust that certificate", host)
	}
	if l.Lent != nil {
		if err := driver.LentTo(l).Distrust(certificate); err != nil {
			return err
		}
	}
	l.Trusted = slices.DeleteFunc(l.Trusted, func(t daemon.Trust) bool { return daemon.IsSameCertificate(t.Certificate, certificate) })
	return nil
}

// RenewCertificate gives the LXD of a host another server certificate, as after a new
// installation or when another server has the address. It closes open connections, and
// returns the new certificate in PEM.
func (o *operator) RenewCertificate(host string) (string, error) {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	l, err := o.findLXD(host)
	if err != nil {
		return "", err
	}
	if l.Lent != nil {
		return "", fmt.Errorf("the LXD of %s is real, and its certificate cannot be renewed", host)
	}
	if e := o.lxds.endpoints[l]; e != nil {
		delete(o.lxds.endpoints, l) // the next use makes another one
		e.close()
	}
	l.Identity = nil
	shown, err := l.EnsureIdentity()
	if err != nil {
		return "", err
	}
	return shown.Certificate, nil
}

// SetLXDCondition changes how the LXD of a host answers: "ok", "unreachable", "slow" or
// "hanging".
func (o *operator) SetLXDCondition(host string, c Condition) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	l, err := o.findLXD(host)
	if err != nil {
		return err
	}
	if !slices.Contains([]Condition{ConditionOK, ConditionUnreachable, ConditionSlow, ConditionHanging}, c) {
		return fmt.Errorf("condition %q is not one of ok, unreachable, slow, hanging", c)
	}
	l.Condition = world.Condition(c)
	return nil
}
