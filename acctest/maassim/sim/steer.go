package sim

import (
	"fmt"
	"slices"
)

// Instance is a VM as it really is in an LXD: the witness for leaks and
// doubles.
type Instance struct {
	Host      string `json:"host"` // the model's name of the LXD
	Project   string `json:"project"`
	Name      string `json:"name"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	Running   bool   `json:"running"`
	// MACs are the addresses of its NICs, by which MAAS recognises it.
	MACs []string `json:"macs"`
	// MachineID is the system id of the machine that MAAS has for it, empty if
	// MAAS does not know it.
	MachineID string `json:"machine_id,omitempty"`
}

// Machine is a plain view of one of MAAS's machines.
type Machine struct {
	SystemID      string   `json:"system_id"`
	Hostname      string   `json:"hostname"`
	Status        Status   `json:"status"`
	StatusName    string   `json:"status_name"`
	StatusMessage string   `json:"status_message,omitempty"`
	Description   string   `json:"description,omitempty"`
	Owner         string   `json:"owner,omitempty"`
	PowerState    string   `json:"power_state"`
	Zone          string   `json:"zone"`
	Pool          string   `json:"pool"`
	Domain        string   `json:"domain"`
	Tags          []string `json:"tags"`
	// Host is the VM host's name, empty for a machine that is no VM of one.
	Host string `json:"host,omitempty"`
	// HostedHosts names the VM hosts that run on this machine.
	HostedHosts string            `json:"hosted_hosts,omitempty"`
	Cores       int               `json:"cores"`
	MemoryMiB   int64             `json:"memory_mib"`
	IPAddresses []string          `json:"ip_addresses"`
	OwnerData   map[string]string `json:"owner_data,omitempty"`
	Locked      bool              `json:"locked,omitempty"`
	// Image is what is being or was deployed, like "ubuntu/noble"; empty for
	// nothing.
	Image string `json:"image,omitempty"`
	// SwapOn tells that what was deployed has swap, as curtin makes it unless
	// swap_size is 0: a kubelet does not start there.
	SwapOn bool `json:"swap_on,omitempty"`
}

// MachineEdit is a change that somebody else makes; nil fields stay.
type MachineEdit struct {
	Hostname    *string            `json:"hostname,omitempty"`
	Description *string            `json:"description,omitempty"`
	Zone        *string            `json:"zone,omitempty"`
	Pool        *string            `json:"pool,omitempty"`
	Domain      *string            `json:"domain,omitempty"`
	Tags        *[]string          `json:"tags,omitempty"`
	PowerState  *string            `json:"power_state,omitempty"` // on or off, in LXD, too; unknown or error
	StatusName  *string            `json:"status_name,omitempty"`
	Locked      *bool              `json:"locked,omitempty"`
	OwnerData   *map[string]string `json:"owner_data,omitempty"`
}

// machineFor finds a machine by system id or hostname.
func (s *Sim) machineFor(name string) (*machine, error) {
	w := s.world
	if m := w.machines[name]; m != nil {
		return m, nil
	}
	if m := w.machineNamed(name); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("no machine %q", name)
}

// lxdFor finds an LXD by the name of a host in the model, of a VM host, or by
// address.
func (s *Sim) lxdFor(name string) (*lxdServer, error) {
	for _, m := range s.model.Hosts {
		if m.Name == name {
			return s.world.lxdAt(m.Address), nil
		}
	}
	if h := s.world.hostNamed(name); h != nil && h.server() != nil {
		return h.server(), nil
	}
	for _, l := range s.world.lxds {
		if l.metal != nil && l.metal.isNamed(name) {
			return l, nil
		}
	}
	if l := s.world.lxdAt(name); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("no LXD %q", name)
}

// Finish ends the machine's transition, and its power action, well and now; of
// a Deployed machine, its first boot.
// The machine is named by system id or hostname.
func (s *Sim) Finish(systemID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(systemID)
	if err != nil {
		return err
	}
	if m.power.pending() {
		m.power.finish()
	}
	if !m.progress.pending() && m.boot.pending() {
		m.boot.finish()
		return nil
	}
	if !m.progress.pending() {
		return fmt.Errorf("%s is %s: nothing is under way", m.hostname, m.status)
	}
	for m.progress.pending() {
		m.progress.finish()
	}
	return nil
}

// Fail ends the machine's transition badly and now, with MAAS's status for it:
// Failed commissioning, Failed deployment, …
func (s *Sim) Fail(systemID, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(systemID)
	if err != nil {
		return err
	}
	if m.power.pending() {
		m.power.finish()
	}
	if !m.fail(message) {
		return fmt.Errorf("%s is %s: nothing is under way", m.hostname, m.status)
	}
	return nil
}

// SetLXD changes how the LXD of a host answers: "ok", "unreachable", "slow" or
// "hanging".
func (s *Sim) SetLXD(host string, c Condition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.lxdFor(host)
	if err != nil {
		return err
	}
	if !slices.Contains([]Condition{OK, Unreachable, Slow, Hanging}, c) {
		return fmt.Errorf("condition %q is none of ok, unreachable, slow, hanging", c)
	}
	l.condition = c
	return nil
}

// SetRack connects or disconnects the rack controller: "ok" or "unreachable".
func (s *Sim) SetRack(c Condition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c != OK && c != Unreachable {
		return fmt.Errorf("condition %q is neither ok nor unreachable", c)
	}
	s.world.rack = c
	return nil
}

// Instances are the VMs that are really in the LXDs.
func (s *Sim) Instances() []Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Instance{}
	for _, l := range sorted(s.world.lxds) {
		for _, project := range sorted(projectNames(l)) {
			for _, i := range l.instances(project) {
				out = append(out, i.public(s.world))
			}
		}
	}
	return out
}

// Volumes lists the custom volumes in the LXD of a host, as "pool/name": the data
// disks of VMs, and what failed composes left. It is empty for a host that is not
// there, and for a real LXD.
func (s *Sim) Volumes(host string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{}
	if l, err := s.lxdFor(host); err == nil {
		for key := range l.volumes {
			names = append(names, key.pool+"/"+key.name)
		}
	}
	slices.Sort(names)
	return names
}

func projectNames(l *lxdServer) map[string]string {
	names := map[string]string{}
	for name := range l.projects {
		names[name] = name
	}
	return names
}

func (i *instance) public(w *world) Instance {
	out := Instance{Host: i.server.name, Project: i.project, Name: i.name, Cores: i.cores, MemoryMiB: i.memoryMiB, Running: i.running, MACs: list(i.macs)}
	for _, m := range w.machines {
		if m.has(i) {
			out.MachineID = m.systemID
		}
	}
	return out
}

// Machines are MAAS's machines, in order of creation.
func (s *Sim) Machines() []Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Machine{}
	for _, m := range sortedMachines(s.world.machines) {
		out = append(out, m.public())
	}
	return out
}

// Kept are MAAS's machines, and the instances and volumes of the LXDs: of one who
// takes away all that he made, the same before and after.
func (s *Sim) Kept() []string {
	var all []string
	for _, m := range s.Machines() {
		all = append(all, fmt.Sprintf("%s %s %s %v", m.Hostname, m.StatusName, m.Owner, m.Tags))
	}
	for _, i := range s.Instances() {
		all = append(all, i.Host+"/"+i.Project+"/"+i.Name)
	}
	for _, l := range s.LXDs() {
		all = append(all, fmt.Sprintf("%s %+v", l.Name, l.Used))
	}
	return all
}

// Machine is one of MAAS's machines, by its hostname or system id.
func (s *Sim) Machine(name string) (Machine, bool) {
	for _, m := range s.Machines() {
		if m.Hostname == name || m.SystemID == name {
			return m, true
		}
	}
	return Machine{}, false
}

func (m *machine) public() Machine {
	out := Machine{
		SystemID: m.systemID, Hostname: m.hostname, Status: m.status, StatusName: m.status.String(),
		Description: m.description, Owner: m.ownerText(), PowerState: m.powerState, Zone: m.zone.name,
		Pool: m.pool.name, Domain: m.domain.name, Tags: slices.Clone(list(m.tags)), Host: m.podName(),
		HostedHosts: m.hostedBy(), Cores: m.cores, MemoryMiB: m.memoryMiB, IPAddresses: list(m.addresses()), Locked: m.locked,
		SwapOn: m.swapOn && m.status == StatusDeployed,
	}
	if m.message != nil {
		out.StatusMessage = *m.message
	}
	if m.series != "" {
		out.Image = m.osystem + "/" + m.series
	}
	for name, value := range m.ownerData {
		if out.OwnerData == nil {
			out.OwnerData = map[string]string{}
		}
		out.OwnerData[name] = value
	}
	return out
}

// UserData is the user-data that the machine was deployed with, decoded; nil
// for none.
func (s *Sim) UserData(systemID string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(systemID)
	if err != nil {
		return nil, err
	}
	return slices.Clone(m.userData), nil
}
