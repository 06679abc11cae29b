package sim

import (
	"fmt"
	"slices"
	"strings"
)

// EditMachine changes a machine as an operator would, without MAAS's rules. A
// status ends what is under way; one that is itself a passage, as Deploying,
// stays until it is edited again or fails.
func (s *Sim) EditMachine(systemID string, e MachineEdit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(systemID)
	if err != nil {
		return err
	}
	z, p, d, status, err := s.world.resolveEdit(e)
	if err != nil {
		return fmt.Errorf("cannot edit %s: %w", m.hostname, err)
	}
	m.place(z, p, d)
	set(&m.hostname, e.Hostname)
	set(&m.description, e.Description)
	set(&m.locked, e.Locked)
	set(&m.ownerData, e.OwnerData)
	if status != nil {
		m.progress.cancel()
		m.query.cancel()
		m.status = *status
	}
	if e.Tags != nil {
		for _, name := range *e.Tags {
			s.world.ensureTag(name)
		}
		m.tags = slices.Clone(*e.Tags)
	}
	if e.PowerState != nil {
		m.turn(*e.PowerState)
	}
	return nil
}

// turn ends a power action and leaves MAAS and LXD agreeing on the power. LXD
// knows no other states than on and off.
func (m *machine) turn(state string) {
	m.power.cancel()
	m.powerAction, m.powerState = "", state
	if i := m.lxdInstance(); i != nil && (state == "on" || state == "off") {
		i.turn(state == "on")
	}
}

// powerStates are those that MAAS remembers (enum.py, POWER_STATE).
var powerStates = []string{"on", "off", "unknown", "error"}

func (w *world) resolveEdit(e MachineEdit) (z *zone, p *pool, d *domain, status *Status, err error) {
	if e.Zone != nil {
		if z = w.zoneNamed(*e.Zone); z == nil {
			return nil, nil, nil, nil, fmt.Errorf("no zone %q", *e.Zone)
		}
	}
	if e.Pool != nil {
		if p = w.poolNamed(*e.Pool); p == nil {
			return nil, nil, nil, nil, fmt.Errorf("no pool %q", *e.Pool)
		}
	}
	if e.Domain != nil {
		if d = w.domainNamed(*e.Domain); d == nil {
			return nil, nil, nil, nil, fmt.Errorf("no domain %q", *e.Domain)
		}
	}
	if e.PowerState != nil && !slices.Contains(powerStates, *e.PowerState) {
		return nil, nil, nil, nil, fmt.Errorf("power_state %q is none of %s", *e.PowerState, strings.Join(powerStates, ", "))
	}
	if e.StatusName == nil {
		return z, p, d, nil, nil
	}
	i := slices.IndexFunc(statusWords, func(w struct{ name, filter string }) bool {
		return strings.EqualFold(w.name, *e.StatusName) || w.filter == *e.StatusName
	})
	if i < 0 {
		return nil, nil, nil, nil, fmt.Errorf("no status %q", *e.StatusName)
	}
	s := Status(i)
	return z, p, d, &s, nil
}

// DeleteMachine deletes a machine as an operator would in the UI, with its
// instance where LXD can be reached. A machine that VM hosts run on stays, as
// there.
func (s *Sim) DeleteMachine(systemID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(systemID)
	if err != nil {
		return err
	}
	if names := m.hostedBy(); names != "" {
		return fmt.Errorf("cannot delete %s: the VM hosts %s run on it", m.hostname, names)
	}
	s.world.removeVM(m)
	return nil
}

// AddInstance makes a VM in the LXD of a host behind MAAS's back: the next
// refresh adopts it. Empty project is the host's; cores and memory are 1 and
// 2048 if zero. It has one NIC where the LXD has a bridge, whose MAC is made up
// unless it is given.
func (s *Sim) AddInstance(i Instance) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.lxdFor(i.Host)
	if err != nil {
		return err
	}
	i.Project = or(i.Project, s.projectOf(i.Host))
	if problem := instanceNameProblem(i.Name); problem != "" {
		return fmt.Errorf("cannot add instance %q: %s", i.Name, problem)
	}
	l.look()
	if l.projects[i.Project][i.Name] != nil {
		return fmt.Errorf("cannot add instance %q: it exists", i.Name)
	}
	subnets := l.subnets[:min(1, len(l.subnets))]
	if len(i.MACs) > len(subnets) {
		return fmt.Errorf("cannot add instance %q: it has %d NICs, and macs are %d", i.Name, len(subnets), len(i.MACs))
	}
	if i.Cores < 0 || i.MemoryMiB < 0 {
		return fmt.Errorf("cannot add instance %q: cores and memory_mib are positive", i.Name)
	}
	if l.lent != nil {
		return s.world.addReal(l, i, subnets)
	}
	made := s.world.addInstance(l, i.Project, i.Name, or(i.Cores, 1), or(i.MemoryMiB, 2048),
		[]volume{{sizeBytes: 8e9, pool: l.defaultPool()}}, subnets)
	made.running = i.Running
	for n, mac := range i.MACs {
		made.macs[n] = strings.ToLower(mac)
	}
	return nil
}

func (s *Sim) projectOf(host string) string {
	for _, m := range s.model.Hosts {
		if m.Name == host {
			return m.Project
		}
	}
	if h := s.world.hostNamed(host); h != nil {
		return h.bmc.project
	}
	return "default"
}

// RemoveInstance removes a VM from an LXD behind MAAS's back. Empty project is
// the host's.
func (s *Sim) RemoveInstance(host, project, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.instanceFor(host, project, name)
	if err != nil {
		return err
	}
	i.server.remove(i)
	return nil
}

func (s *Sim) instanceFor(host, project, name string) (*instance, error) {
	l, err := s.lxdFor(host)
	if err != nil {
		return nil, err
	}
	l.look()
	i := l.projects[or(project, s.projectOf(host))][name]
	if i == nil {
		return nil, fmt.Errorf("no instance %q on %s", name, host)
	}
	return i, nil
}

// SetRunning starts or stops a VM in an LXD behind MAAS's back, which goes on
// showing the power that it knew. Empty project is the host's.
func (s *Sim) SetRunning(host, project, name string, running bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.instanceFor(host, project, name)
	if err != nil {
		return err
	}
	i.turn(running)
	return nil
}

// RefreshHost is the Refresh button of MAAS's UI. Unlike the API's refresh it
// lists the instances first and syncs in a transaction of its own, a
// Latency.Refresh later: a VM composed in between is not in the list, so it is
// removed with its instance.
func (s *Sim) RefreshHost(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
	defer s.ended()
	w := s.world
	h := w.hostNamed(name)
	if h == nil {
		return fmt.Errorf("no VM host %q", name)
	}
	return w.pressRefresh(h)
}

// TrustCertificate makes the LXD of a host trust a PEM certificate, as
// "lxc config trust add" on the host would.
func (s *Sim) TrustCertificate(host, certificate string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.lxdFor(host)
	if err != nil {
		return err
	}
	t := trust{certificate: certificate}
	if l.lent != nil {
		if err := l.trustReal(t); err != nil {
			return err
		}
	}
	l.trusted = append(l.trusted, t)
	return nil
}

// DistrustCertificate makes the LXD of a host forget a PEM certificate, as
// "lxc config trust remove" on the host would.
func (s *Sim) DistrustCertificate(host, certificate string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.lxdFor(host)
	if err != nil {
		return err
	}
	if _, known := l.trusting(certificate); !known {
		return fmt.Errorf("the LXD of %s does not trust that certificate", host)
	}
	if l.lent != nil {
		if err := l.distrustReal(certificate); err != nil {
			return err
		}
	}
	l.trusted = slices.DeleteFunc(l.trusted, func(t trust) bool { return sameCertificate(t.certificate, certificate) })
	return nil
}

// RenewCertificate lets the LXD of a host show another certificate, as one that
// was installed anew, or something else at its address, would. Connections of
// before are cut. It returns the new certificate, in PEM.
func (s *Sim) RenewCertificate(host string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.lxdFor(host)
	if err != nil {
		return "", err
	}
	if l.lent != nil {
		return "", fmt.Errorf("the LXD of %s is a real one, which keeps its certificate", host)
	}
	if e := s.endpoints[l]; e != nil {
		delete(s.endpoints, l) // made anew when the world is left, or asked for
		e.close()
	}
	l.identity = nil
	shown, err := l.shown()
	if err != nil {
		return "", err
	}
	return shown.certificate, nil
}
