package engine

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// MachineSpec is a wanted bare-metal machine of MAAS, allocated and deployed.
type MachineSpec struct {
	// Machine is the hostname, FQDN or system id of a certain machine. Empty: any Ready machine
	// that fits Select.
	Machine string
	// Select narrows the choice where Machine is empty.
	Select Selector
	// Adopt takes the Machine as somebody else deployed it. It is then never released.
	Adopt bool
	// TakeOwnership, beside Adopt, makes it ours all the same: its former owner has handed it
	// over, and Delete releases it.
	TakeOwnership bool
	// Interfaces are the interfaces that get a fixed address before the machine is deployed.
	// The others keep what MAAS has for them. Delete takes the addresses back, because MAAS
	// does not. Once the machine is deployed, Delete needs the system id for that.
	Interfaces []FixedAddress
	// Deploy says what to install. Nil: the machine is left Allocated.
	Deploy *Deployment
	// Hostname is the wanted hostname, one DNS label; empty: the machine keeps its own. Delete
	// restores the former hostname and the other InPlaceSettings, where nobody else has changed
	// them since.
	Hostname string
	// InPlaceSettings do not apply to hosts.
	InPlaceSettings InPlaceSettings
	// AwaitName says to wait for a name that another machine of the same owner has, as long as
	// this process renames that machine or gives it back. The name is that of the key, or the
	// Hostname. Hosts have a field of their own for it.
	AwaitName bool
}

// Selector says which machines are suitable. The zero value accepts all bare metal.
type Selector struct {
	Zone         string
	Pool         string   // resource pool
	Tags         []string // all of them
	Architecture string   // "amd64", or "amd64/generic"
	MinCores     int
	MinMemoryMiB int64
	MinDiskGB    int64 // of the largest disk; decimal, as MAAS counts disks
}

// BareMetal is a machine of MAAS as it was last seen.
type BareMetal struct {
	Machine
	// Ours means that the machine carries the mark of the requested key, or is still allocated for
	// it after somebody deleted its owner data by hand.
	Ours bool
	// Finished means that it once reached the wanted state.
	Finished bool
}

// HasStaticLink tells whether one of the links is static and has that address.
func HasStaticLink(links []InterfaceLink, ip netip.Addr) bool {
	return slices.ContainsFunc(links, func(l InterfaceLink) bool { return l.Mode == "static" && l.IP == ip.String() })
}

// FixedAddress is an address that an interface of a machine has while the machine is allocated.
type FixedAddress struct {
	// Name is the caller's name for it, a label of [a-z0-9-]; errors use it.
	Name string
	// NIC is the interface's name or MAC in MAAS. Empty: the interface on the subnet's VLAN,
	// preferably the one that the machine boots from. If a bridge is on it, the bridge gets the
	// address.
	NIC string
	// Subnet by name or CIDR; empty: the subnet of IP.
	Subnet string
	IP     netip.Addr
}

// Field is the path of the address in the spec: interfaces.eth0.
func (f FixedAddress) Field() fieldpath.Path { return fieldpath.New("interfaces").Key(f.Name) }

func (s MachineSpec) validateAddresses() error {
	has := map[netip.Addr]string{}
	for _, f := range s.Interfaces {
		other, twice := has[f.IP]
		switch {
		case s.Adopt:
			return &SpecError{Field: fieldpath.New("interfaces"), Message: "an adopted machine keeps its addresses", Hint: "Remove interfaces, or let the machine be deployed."}
		case !dnsLabelPattern.MatchString(f.Name):
			return &SpecError{Field: f.Field(), Message: fmt.Sprintf("%q is not a valid interface label", f.Name), Hint: `Use lower-case letters, digits and hyphens: "eth0".`}
		case !f.IP.IsValid():
			return &SpecError{Field: f.Field().Child("ip"), Message: "no address is given", Hint: "Remove the interface to let MAAS choose its address."}
		case twice:
			return &SpecError{Field: f.Field().Child("ip"), Message: fmt.Sprintf("%s is the address of %s already", f.IP, other), Hint: "Give each interface an address of its own."}
		}
		has[f.IP] = f.Name
	}
	return nil
}

// Matches reports whether a machine is suitable. VMs are never chosen, only named: they use the
// capacity of a VM host.
func (s Selector) Matches(m Machine) bool {
	largest := int64(0)
	for _, d := range m.Disks {
		largest = max(largest, d.SizeGB)
	}
	return !m.HasVMHostInMAAS() && !m.Locked && m.Cores >= s.MinCores && m.MemoryMiB >= s.MinMemoryMiB && largest >= s.MinDiskGB &&
		(s.Zone == "" || m.Zone == s.Zone) && (s.Pool == "" || m.Pool == s.Pool) &&
		(s.Architecture == "" || s.Architecture == m.Architecture || s.Architecture == placement.ShortArchitecture(m.Architecture)) &&
		!slices.ContainsFunc(s.Tags, func(t string) bool { return !slices.Contains(m.Tags, t) })
}

// MachineField names the part of the spec that chose the machine.
func (s MachineSpec) MachineField() fieldpath.Path {
	if s.Machine == "" {
		return fieldpath.New("selector")
	}
	return fieldpath.New("machine")
}

// UnfinishedState is the StateData of a machine that is not finished yet.
func (s MachineSpec) UnfinishedState() string {
	if s.Adopt && !s.TakeOwnership {
		return StateAdopting
	}
	return StateInProgress
}

// FinishedState is the StateData of a machine that has reached the wanted state.
func (s MachineSpec) FinishedState() string {
	if s.Adopt && !s.TakeOwnership {
		return StateAdopted
	}
	return StateFinished
}

// IsAdopted tells that someone else installed the machine.
func (m Machine) IsAdopted() bool {
	return m.OwnerData[StateData] == StateAdopting || m.OwnerData[StateData] == StateAdopted
}

// Validate checks the spec without asking MAAS. The error is a *SpecError.
func (s MachineSpec) Validate() error {
	switch {
	case s.Adopt && s.Machine == "":
		return &SpecError{Field: fieldpath.New("machine"), Message: "only a named machine can be adopted", Hint: "Give its hostname, FQDN or system id."}
	}
	return errors.Join(s.validateHostname(), s.validateAddresses(), s.InPlaceSettings.validate("this machine", s.Deploy), s.Deploy.Validate())
}

// validateHostname refuses a hostname that is no DNS label.
func (s MachineSpec) validateHostname() error {
	if s.Hostname == "" || dnsLabelPattern.MatchString(s.Hostname) {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("hostname"), Message: fmt.Sprintf("%q is not a valid hostname", s.Hostname),
		Hint: "Use 1 to 63 lower-case letters, digits and hyphens, without a dot; the domain has an attribute of its own.",
	}
}

// InPlaceSettings are the settings of a machine that MAAS can change at any time.
type InPlaceSettings struct {
	// Zone, Pool and Domain are names. Empty: the machine keeps what it has.
	Zone   string
	Pool   string
	Domain string
	// Tags that the machine must carry. It has others besides.
	Tags []string
	// RemovedTags must be gone: tags that were wanted before.
	RemovedTags []string
	// Description is MAAS's description without our mark and notes (see DescriptionText). Nil
	// leaves it alone; an empty one clears it.
	Description *string
	// Locked says whether MAAS's lock is on the machine. The lock keeps everybody from
	// deleting, releasing and changing it. The engine unlocks it for the time of a change. Nil
	// leaves the lock alone: then an existing lock refuses every change, except of the tags of
	// a VM.
	Locked *bool
	// Annotations are wanted workload annotations of a finished machine. RemovedAnnotations are
	// the keys of those that were wanted before. Other keys stay. Values are not empty: MAAS
	// takes an empty one for a removal.
	Annotations        map[string]string
	RemovedAnnotations []string
}

// InPlaceSettings are the settings of a VM that MAAS can change at any time.
func (s VMSpec) InPlaceSettings() InPlaceSettings {
	return InPlaceSettings{
		Zone: s.Zone, Pool: s.Pool, Domain: s.Domain, Tags: s.Tags, RemovedTags: s.RemovedTags, Description: s.Description,
		Locked: s.Locked, Annotations: s.Annotations, RemovedAnnotations: s.RemovedAnnotations,
	}
}

// validate refuses values that MAAS does not keep. Messages call the object by the text this,
// such as "this VM".
func (u InPlaceSettings) validate(this string, d *Deployment) error {
	return errors.Join(u.validateLock(this, d), u.validateAnnotations(this, d), u.validateDescription())
}

// validateLock refuses the lock without a deployment.
func (u InPlaceSettings) validateLock(this string, d *Deployment) error {
	if u.Locked == nil || !*u.Locked || d != nil {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("deletion_protection"), Message: "MAAS locks deployed machines only, and nothing is to be deployed on " + this,
		Hint: "Add deploy, or leave deletion_protection out.",
	}
}

// validateAnnotations refuses annotations that MAAS does not keep.
func (u InPlaceSettings) validateAnnotations(this string, d *Deployment) error {
	if len(u.Annotations) > 0 && d == nil {
		return &SpecError{
			Field: fieldpath.New("annotations"), Message: "MAAS annotates deployed machines only, and nothing is to be deployed on " + this,
			Hint: "Add deploy, or leave annotations out.",
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.Annotations)) {
		switch problem := AnnotationKeyProblem(key); {
		case problem != "":
			return &SpecError{Field: fieldpath.New("annotations"), Message: problem}
		case u.Annotations[key] == "":
			return &SpecError{Field: fieldpath.New("annotations"), Message: fmt.Sprintf("the value of %q is empty, and MAAS would remove the key", key), Hint: "Leave the key out."}
		}
	}
	return nil
}

// validateDescription refuses a text that looks like our mark, and one that MAAS does not keep.
func (u InPlaceSettings) validateDescription() error {
	if u.Description == nil {
		return nil
	}
	if problem := DescriptionProblem(*u.Description); problem != "" {
		return &SpecError{Field: fieldpath.New("description"), Message: problem}
	}
	return nil
}
