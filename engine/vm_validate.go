package engine

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// Limits of a spec.
const (
	// MinMemoryMiB is the least memory that MAAS composes a VM with
	// (forms/pods.py, ComposeMachineForm).
	MinMemoryMiB = 1024
	// MaxUserDataBytes keeps a deploy request below 1 MiB, nginx's default limit. User-data
	// travels in it as URL-encoded base64.
	MaxUserDataBytes = 512 << 10
	// MaxDiskGB, 1 PB, only catches typing errors.
	MaxDiskGB = 1_000_000
)

// Validate checks the spec without asking MAAS. The error is a *SpecError.
func (s VMSpec) Validate() error {
	switch {
	case leadingDigitPattern.MatchString(s.Name) && dnsLabelPattern.MatchString(s.Name):
		return &SpecError{
			Field: fieldpath.New("name"), Message: fmt.Sprintf("%q begins with a digit, which LXD refuses in the name of an instance", s.Name),
			Hint: "Put a letter before it.",
		}
	case !dnsLabelPattern.MatchString(s.Name):
		return &SpecError{
			Field:   fieldpath.New("name"),
			Message: fmt.Sprintf("%q is not a hostname that both MAAS and LXD take", s.Name),
			Hint:    "Use 1 to 63 lower-case letters, digits and hyphens, without a dot; the domain has an attribute of its own.",
		}
	case len(s.PinnedCores) == 0 && s.Cores < 1:
		return &SpecError{Field: fieldpath.New("cores"), Message: fmt.Sprintf("%d is too few", s.Cores), Hint: "A VM needs at least 1 core."}
	case s.MemoryMiB < MinMemoryMiB:
		return &SpecError{
			Field: fieldpath.New("memory_mib"), Message: fmt.Sprintf("%d MiB is too little", s.MemoryMiB),
			Hint: fmt.Sprintf("MAAS composes VMs with at least %d MiB.", MinMemoryMiB),
		}
	case len(s.Disks) == 0:
		return &SpecError{Field: fieldpath.New("disks"), Message: "no root disk is given", Hint: "Give at least a root disk."}
	}
	return errors.Join(s.Placement.validate(), s.validateDisks(), s.validateInstance(), s.validateInstallation(), ValidateInterfaces(s.Interfaces, s.Deploy != nil), ValidateInterfaces(s.AddedInterfaces, false), s.InPlaceSettings().validate("this VM", s.Deploy), s.validatePower(), s.Deploy.Validate())
}

// validateInstallation refuses triggers of a new installation if nothing is deployed.
func (s VMSpec) validateInstallation() error {
	if s.Installation == "" || s.Deploy != nil {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("redeploy_triggers"), Message: "nothing is deployed on this VM, so nothing can be deployed again",
		Hint: "Add deploy, or leave redeploy_triggers out.",
	}
}

// validatePower refuses to turn on a VM without a deployment, and to turn off or stop one that
// runs from memory.
func (s VMSpec) validatePower() error {
	refusal := &SpecError{Field: fieldpath.New("power_state")}
	switch {
	case s.Power != "" && s.Power != "on" && s.Power != "off":
		refusal.Message, refusal.Hint = fmt.Sprintf("%q is not a power state", s.Power), "Use on or off."
	case s.Power == "on" && s.Deploy == nil:
		refusal.Message = "MAAS turns on deployed machines only, and nothing is deployed on this VM"
		refusal.Hint = "Add deploy, or leave power_state out."
	case s.Power != "" && s.Deploy != nil && s.Deploy.Ephemeral:
		refusal.Message, refusal.Hint = "a VM that runs from memory loses everything when it is turned off", "Leave power_state out, or deploy to disk."
	case s.MayStop && s.Deploy != nil && s.Deploy.Ephemeral:
		refusal.Field = fieldpath.New("allow_stopping_for_update")
		refusal.Message, refusal.Hint = "a VM that runs from memory loses everything when it is turned off", "Leave allow_stopping_for_update out, or deploy to disk."
	default:
		return nil
	}
	return refusal
}

// annotationKeyPattern is MAAS's pattern (models/ownerdata.py, DATA_KEY_RE), limited to ASCII.
var annotationKeyPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,255}$`)

// AnnotationKeyProblem says why an annotation cannot have the key; empty: it can.
func AnnotationKeyProblem(key string) string {
	switch {
	case !annotationKeyPattern.MatchString(key):
		return fmt.Sprintf("%q is not a valid annotation key: MAAS takes 1 to 255 letters, digits, underscores, dots and hyphens.", key)
	case key == "op":
		return `MAAS uses the key "op" itself, and silently drops it. Choose another key.`
	case isOurData(key):
		return fmt.Sprintf("Keys that begin with %q are marks of this program. Choose another key.", MarkerPrefix)
	default:
		return ""
	}
}

func (p Placement) validate() error {
	switch p.Strategy {
	case "", placement.Spread, placement.Pack:
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("placement", "strategy"), Message: fmt.Sprintf("%q is not a placement strategy", p.Strategy),
		Hint: fmt.Sprintf("Use %q or %q.", placement.Spread, placement.Pack),
	}
}

func (s VMSpec) validateDisks() error {
	for _, d := range s.Disks {
		if d.SizeGB < 1 || d.SizeGB > MaxDiskGB {
			return &SpecError{
				Field: fieldpath.New("disks").Key(d.Name).Child("size_gb"), Message: fmt.Sprintf("a disk of %d GB makes no sense", d.SizeGB),
				Hint: fmt.Sprintf("A disk has 1 to %d GB.", MaxDiskGB),
			}
		}
	}
	return nil
}

// ValidateInterfaces checks interfaces without asking MAAS. The error is a *SpecError. Without
// any interface, MAAS makes one with an address.
func ValidateInterfaces(interfaces []Interface, isDeployed bool) error {
	for _, i := range interfaces {
		if !dnsLabelPattern.MatchString(i.Name) {
			return &SpecError{
				Field: fieldpath.New("interfaces").Key(i.Name), Message: fmt.Sprintf("%q is not a valid interface label", i.Name),
				Hint: `Use lower-case letters, digits and hyphens: "eth0".`,
			}
		}
		if i.Network().IsEmpty() {
			return &SpecError{
				Field: fieldpath.New("interfaces").Key(i.Name), Message: "it names no network",
				Hint: "Give a subnet, or a VLAN, fabric or space that has one.",
			}
		}
		if err := errors.Join(i.ValidateLinks(), i.validateCard()); err != nil {
			return err
		}
	}
	if isDeployed {
		return errors.Join(validateAddresses(interfaces), validateMACs(interfaces), validateOnNetwork(interfaces))
	}
	return errors.Join(validateAddresses(interfaces), validateMACs(interfaces))
}

// validateCard refuses an invalid MAC and an invalid bridge name. The error is a *SpecError.
func (i Interface) validateCard() error {
	if problem := MACProblem(i.MAC); i.MAC != "" && problem != "" {
		return &SpecError{Field: i.Field("mac_address"), Message: problem, Hint: "Remove it to let LXD choose one."}
	}
	if i.Bridge != "" && (len(i.Bridge) > MaxInterfaceName || !interfaceNamePattern.MatchString(i.Bridge)) {
		return &SpecError{
			Field: i.Field("bridge"), Message: fmt.Sprintf("%q is not a valid bridge name", i.Bridge),
			Hint: `Use a letter, then letters, digits, ".", "_" and "-", at most 15 characters: "br0".`,
		}
	}
	return nil
}

// MACProblem says why an interface cannot have the MAC, and the way out; empty: it can.
func MACProblem(mac string) string {
	parsed, err := net.ParseMAC(mac)
	switch {
	case err != nil || len(parsed) != macBytes:
		return fmt.Sprintf("%q is not a MAC address. Write six pairs of hexadecimal digits: 00:16:3e:12:34:56.", mac)
	case parsed.String() != mac:
		return fmt.Sprintf("MAAS writes MAC addresses in lower case with colons. Write %q.", parsed)
	case parsed[0]&1 != 0:
		return fmt.Sprintf("%s is an address of several interfaces (multicast). The first pair of digits must be even, as in 00:16:3e:12:34:56.", mac)
	case slices.Max(parsed) == 0:
		return mac + " cannot be the address of an interface. Choose another one."
	}
	return ""
}

// macBytes is the length of an Ethernet address.
const macBytes = 6

// validateMACs refuses a MAC that two interfaces want.
func validateMACs(interfaces []Interface) error {
	has := map[string]string{}
	for _, i := range interfaces {
		if other, twice := has[i.MAC]; twice && i.MAC != "" {
			return &SpecError{
				Field: i.Field("mac_address"), Message: fmt.Sprintf("%s is the MAC address of %s already", i.MAC, other), Hint: "Give each interface a MAC of its own.",
			}
		}
		has[i.MAC] = i.Name
	}
	return nil
}

// validateOnNetwork refuses to deploy a VM that gets no address: MAAS needs one
// (models/node.py, on_network).
func validateOnNetwork(interfaces []Interface) error {
	hasAddress := func(i Interface) bool { return i.Mode != LinkUp }
	if len(interfaces) == 0 || slices.ContainsFunc(interfaces, hasAddress) {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("interfaces").Key(interfaces[0].Name).Child("mode"), Message: "no interface gets an address, and MAAS deploys no machine without one",
		Hint: "Give one interface another mode than link_up, or remove deploy.",
	}
}

// ValidateLinks refuses links that MAAS cannot make (forms/interface_link.py), or would
// misread. The error is a *SpecError.
func (i Interface) ValidateLinks() error {
	links := i.Links()
	for n, l := range links {
		refusal := &SpecError{Field: l.Field.Child("mode")}
		switch {
		case !slices.Contains(LinkModes, l.Mode):
			refusal.Message, refusal.Hint = fmt.Sprintf("%q is not an interface mode", l.Mode), "Use one of "+strings.Join(LinkModes, ", ")+"."
		case l.IP.IsValid() && l.Mode != LinkStatic:
			refusal.Message = fmt.Sprintf("an interface in the mode %s has no fixed address, but %s is given", l.Mode, l.IP)
			refusal.Hint = "Remove ip, or the mode."
		case l.Mode == LinkUp && len(links) > 1:
			refusal.Message, refusal.Hint = "an interface that is only up has no addresses", "Remove addresses, or choose another mode."
			if n > 0 {
				refusal.Message, refusal.Hint = "a further address cannot have the mode link_up", "Remove the address."
			}
		default:
			continue
		}
		return refusal
	}
	return nil
}
