package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/machines"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// Condition is how an LXD, or the rack controller, answers.
type Condition string

// The conditions. A hanging LXD accepts connections and never answers; MAAS gives up after
// 120 s. A rack controller is "ok" or "unreachable".
const (
	ConditionOK          = Condition(world.ConditionOK)
	ConditionUnreachable = Condition(world.ConditionUnreachable)
	ConditionSlow        = Condition(world.ConditionSlow)
	ConditionHanging     = Condition(world.ConditionHanging)
)

// operator makes changes to MAAS and its LXDs behind the client's back.
type operator struct {
	*region
	lxds *lxdEndpoints
}

// MachineEdit is a change of a machine behind the client's back. A nil field is not
// changed.
type MachineEdit struct {
	Hostname    *string            `json:"hostname,omitempty"`
	Description *string            `json:"description,omitempty"`
	Zone        *string            `json:"zone,omitempty"`
	Pool        *string            `json:"pool,omitempty"`
	Domain      *string            `json:"domain,omitempty"`
	Tags        *[]string          `json:"tags,omitempty"`
	PowerState  *string            `json:"power_state,omitempty"` // on or off, also in LXD; unknown or error
	StatusName  *string            `json:"status_name,omitempty"`
	Locked      *bool              `json:"locked,omitempty"`
	OwnerData   *map[string]string `json:"owner_data,omitempty"`
}

// FinishMachine ends the machine's transition and its power action now, with success. For
// a Deployed machine it ends the first boot. The machine is named by system id or
// hostname.
func (o *operator) FinishMachine(systemID string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	m, err := o.findMachine(systemID)
	if err != nil {
		return err
	}
	powered := m.PowerJob.IsPending()
	if powered {
		m.PowerJob.Finish()
	}
	if !m.Transition.IsPending() && m.BootJob.IsPending() {
		m.BootJob.Finish()
		return nil
	}
	if !m.Transition.IsPending() && !powered {
		return fmt.Errorf("%s is %s: nothing is under way", m.Hostname, m.Status)
	}
	for m.Transition.IsPending() {
		m.Transition.Finish()
	}
	return nil
}

// FailMachine makes the machine's transition fail now, with MAAS's status for it: Failed
// commissioning, Failed deployment, …
func (o *operator) FailMachine(systemID, message string) error {
	return o.FailScript(systemID, message, Failure{Output: message})
}

// Failure is a script that fails: its name, exit status and output. Without a name, one of
// MAAS's built-in scripts fails.
type Failure = script.Failure

// FailScript is FailMachine by a script of the commissioning, the tests or the
// installation.
func (o *operator) FailScript(systemID, message string, f Failure) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	m, err := o.findMachine(systemID)
	if err != nil {
		return err
	}
	if m.PowerJob.IsPending() {
		m.PowerJob.Finish()
	}
	if !lifecycle.FailScript(m, message, f) {
		return fmt.Errorf("%s is %s: nothing is under way", m.Hostname, m.Status)
	}
	return nil
}

// FailWithoutScript makes the commissioning of a machine fail now although none of its
// scripts failed. The machine itself reports the failure.
func (o *operator) FailWithoutScript(systemID string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	m, err := o.findMachine(systemID)
	if err != nil {
		return err
	}
	if m.PowerJob.IsPending() {
		m.PowerJob.Finish()
	}
	if !lifecycle.FailWithoutScript(m) {
		return fmt.Errorf("%s is %s, not Commissioning", m.Hostname, m.Status)
	}
	return nil
}

// SetRackCondition connects or disconnects the rack controller: "ok" or "unreachable".
func (o *operator) SetRackCondition(c Condition) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	if c != ConditionOK && c != ConditionUnreachable {
		return fmt.Errorf("condition %q is neither ok nor unreachable", c)
	}
	o.world.RackCondition = world.Condition(c)
	return nil
}

// SetFirstBoot sets how the user-data of a machine ends in this and each later deployment:
// "ok", "fails" or "never". A first boot under way ends so, too. One that never ended
// starts again. The message appears in the machine's events.
func (o *operator) SetFirstBoot(machine string, outcome FirstBoot, message string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	m, err := o.findMachine(machine)
	if err != nil {
		return err
	}
	if outcome == "" || !outcome.isValid() {
		return fmt.Errorf("outcome %q is not one of ok, fails, never, real", outcome)
	}
	waiting := m.BootJob.IsPending() || m.BootNeverEnds
	m.FirstBoot, m.BootMessage = world.FirstBoot(outcome), message
	if waiting && (m.BootNeverEnds || outcome == BootNever) {
		lifecycle.StartFirstBoot(m)
	}
	return nil
}

// EditMachine changes a machine without MAAS's rules. A new status ends the current
// transition. A transient status such as Deploying stays until you edit it again or the
// machine fails.
func (o *operator) EditMachine(systemID string, e MachineEdit) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	m, err := o.findMachine(systemID)
	if err != nil {
		return err
	}
	z, p, d, status, err := resolveEdit(o.world, e)
	if err != nil {
		return fmt.Errorf("cannot edit %s: %w", m.Hostname, err)
	}
	machines.MoveMachine(m, z, p, d)
	hosts.SetIfGiven(&m.Hostname, e.Hostname)
	hosts.SetIfGiven(&m.Description, e.Description)
	hosts.SetIfGiven(&m.Locked, e.Locked)
	hosts.SetIfGiven(&m.OwnerData, e.OwnerData)
	if status != nil {
		m.Transition.Cancel()
		m.PowerQueryJob.Cancel()
		m.SetStatus(*status)
	}
	if e.Tags != nil {
		for _, name := range *e.Tags {
			o.world.EnsureTag(name)
		}
		m.Tags = slices.Clone(*e.Tags)
	}
	if e.PowerState != nil {
		setPowerState(m, *e.PowerState)
	}
	return nil
}

// setPowerState ends a power action and sets the power in both MAAS and LXD. LXD has only
// the states on and off.
func setPowerState(m *world.Machine, state string) {
	m.PowerJob.Cancel()
	m.PowerQueryJob.Cancel()
	m.PowerAction, m.PowerState = "", state
	if i := m.LXDInstance(); i != nil && (state == "on" || state == "off") {
		i.SetRunning(state == "on")
	}
}

// powerStates are the states that MAAS stores (enum.py, POWER_STATE).
var powerStates = []string{"on", "off", "unknown", "error"}

func resolveEdit(w *world.World, e MachineEdit) (z *world.Zone, p *world.Pool, d *world.Domain, status *world.Status, err error) {
	if e.Zone != nil {
		if z = w.ZoneNamed(*e.Zone); z == nil {
			return nil, nil, nil, nil, fmt.Errorf("no zone %q", *e.Zone)
		}
	}
	if e.Pool != nil {
		if p = w.PoolNamed(*e.Pool); p == nil {
			return nil, nil, nil, nil, fmt.Errorf("no pool %q", *e.Pool)
		}
	}
	if e.Domain != nil {
		if d = w.DomainNamed(*e.Domain); d == nil {
			return nil, nil, nil, nil, fmt.Errorf("no domain %q", *e.Domain)
		}
	}
	if e.PowerState != nil && !slices.Contains(powerStates, *e.PowerState) {
		return nil, nil, nil, nil, fmt.Errorf("power_state %q is not one of %s", *e.PowerState, strings.Join(powerStates, ", "))
	}
	if e.StatusName == nil {
		return z, p, d, nil, nil
	}
	i := slices.IndexFunc(world.StatusWords, func(w world.StatusWord) bool {
		return strings.EqualFold(w.Name, *e.StatusName) || w.Filter == *e.StatusName
	})
	if i < 0 {
		return nil, nil, nil, nil, fmt.Errorf("no status %q", *e.StatusName)
	}
	s := world.Status(i)
	return z, p, d, &s, nil
}

// DeleteMachine deletes a machine as the UI does, and its instance if LXD can be reached.
// As in the UI, a machine on which VM hosts run stays.
func (o *operator) DeleteMachine(systemID string) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	m, err := o.findMachine(systemID)
	if err != nil {
		return err
	}
	if names := machines.HostedVMHosts(m); names != "" {
		return fmt.Errorf("cannot delete %s: the VM hosts %s run on it", m.Hostname, names)
	}
	lifecycle.RemoveVM(o.world, m)
	return nil
}

// Hardware is the real hardware of a machine. MAAS learns it when the machine is
// commissioned. Until then it knows only what somebody entered.
type Hardware struct {
	Cores     int   `json:"cores,omitempty"`
	MemoryMiB int64 `json:"memory_mib,omitempty"`
	// Info is the machine's own description, by MAAS's keys of hardware_info:
	// "system_vendor", "cpu_model", …
	Info  map[string]string `json:"info,omitempty"`
	Disks []HardwareDisk    `json:"disks,omitempty"`
	// NICs are its network ports. Without any, they are those that MAAS knows.
	NICs []HardwareNIC `json:"nics,omitempty"`
}

// HardwareDisk is a disk of a machine.
type HardwareDisk struct {
	Name      string   `json:"name"`
	Model     string   `json:"model,omitempty"`
	Serial    string   `json:"serial,omitempty"`
	IDPath    string   `json:"id_path,omitempty"` // "/dev/" and the name if empty
	SizeBytes int64    `json:"size_bytes"`
	BlockSize int      `json:"block_size,omitempty"` // 512 if zero
	Tags      []string `json:"tags,omitempty"`
	Firmware  *string  `json:"firmware,omitempty"`
}

// HardwareNIC is a network port of a machine.
type HardwareNIC struct {
	MAC       string  `json:"mac"`
	Name      string  `json:"name"`
	Vendor    string  `json:"vendor,omitempty"`
	Product   string  `json:"product,omitempty"`
	Firmware  *string `json:"firmware,omitempty"`
	Speed     int     `json:"speed,omitempty"` // in Mbit/s
	LinkSpeed int     `json:"link_speed,omitempty"`
	Unplugged bool    `json:"unplugged,omitempty"`
	// Subnet is the name or CIDR of the subnet whose DHCP gives the port an address, or
	// empty for none.
	Subnet string `json:"subnet,omitempty"`
}

// SetHardware sets the hardware that the next commissioning of a machine finds.
func (o *operator) SetHardware(machine string, h Hardware) error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	m, err := o.findMachine(machine)
	if err != nil {
		return err
	}
	if m.LXDInstance() != nil {
		return errors.New("the hardware of a VM comes from its LXD")
	}
	found := &world.Hardware{Cores: h.Cores, MemoryMiB: h.MemoryMiB, Info: h.Info}
	for _, n := range h.NICs {
		p := world.Port{
			MAC: strings.ToLower(n.MAC), Name: n.Name, Vendor: n.Vendor, Product: n.Product, Firmware: n.Firmware,
			Speed: n.Speed, LinkSpeed: n.LinkSpeed, Unplugged: n.Unplugged,
		}
		if n.Subnet != "" {
			if p.Subnet = o.networkNamed(n.Subnet); p.Subnet == nil {
				return fmt.Errorf("no subnet %q", n.Subnet)
			}
		}
		found.Ports = append(found.Ports, p)
	}
	disks := []storage.FoundDisk{}
	for _, d := range h.Disks {
		disks = append(disks, storage.FoundDisk{
			Name: d.Name, Model: d.Model, Serial: d.Serial, IDPath: cmp.Or(d.IDPath, "/dev/"+d.Name), SizeBytes: d.SizeBytes,
			BlockSize: d.BlockSize, Tags: d.Tags, Firmware: d.Firmware,
		})
	}
	m.Hardware, m.Storage.HardwareDisks = found, disks
	return nil
}

// networkNamed finds a network by its name or CIDR, whether or not MAAS knows it.
func (o *operator) networkNamed(name string) *world.Subnet {
	for _, n := range append(o.world.Subnets, o.world.Networks...) {
		if n.Name == name || n.CIDR.String() == name {
			return n
		}
	}
	return nil
}
