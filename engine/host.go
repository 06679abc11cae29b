package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// HostSpec is a wanted LXD VM host: a machine that runs LXD, or an LXD server
// that runs already, registered in MAAS.
type HostSpec struct {
	// Machine is what LXD runs on. Ignored where Address is given.
	Machine MachineSpec
	// Address of an LXD server that runs already: "10.0.0.5" or
	// "https://10.0.0.5:8443". Such a host is only registered.
	Address string
	// Name of the VM host in MAAS; empty: the machine's hostname.
	Name string
	// Project is the LXD project in which MAAS makes VMs. It cannot change:
	// MAAS would delete the VMs of the old one.
	Project string
	// Credentials by which MAAS, and we, are known to LXD.
	Credentials Credentials
	// ServerFingerprint is that of the certificate which the LXD must show from
	// the first contact on: its SHA-256, in hex. A new one is accepted by it.
	// Empty: the one that it is first seen with.
	ServerFingerprint string
	// LXD is how the machine sets LXD up at its first boot; not used where it
	// is adopted, or given by Address. Project, and the certificate of
	// Credentials among the trusted ones, are filled in; so is the user-data
	// of Machine.Deploy as an extra part.
	LXD cloudinit.Host
	// PoolPercent is what part of the machine's first disk a storage pool in a file
	// gets that names no size. Zero: cloudinit's default size.
	PoolPercent int
	// Bridge is made in MAAS before the machine is deployed, so that VMs get
	// an address from MAAS. Nil: no bridge is made.
	Bridge *BridgeSpec
	// Network is made in the place of Bridge, which is nil then.
	Network *NetworkSpec
	// Zone and Pool are names; empty: MAAS's defaults.
	Zone string
	Pool string
	// Tags that the VM host must carry. RemovedTags must be gone.
	Tags        []string
	RemovedTags []string
	// CPUOvercommit and MemoryOvercommit are MAAS's ratios, up to 10; zero:
	// left as they are, 1 at first.
	CPUOvercommit    float64
	MemoryOvercommit float64
	// DefaultStoragePool is where disks go that name no pool; empty: LXD's
	// first.
	DefaultStoragePool string
	// AdoptExistingVMs allows to register an LXD whose project holds VMs. MAAS
	// makes machines of them, and power-cycles them.
	AdoptExistingVMs bool
	// AwaitName: a name that another host of the same owner has is waited for, as
	// long as this process renames or deletes that one, and otherwise for half a
	// minute. Else such a name is an error at once.
	AwaitName bool
}

// BridgeSpec is a bridge on a NIC of a machine.
type BridgeSpec struct {
	Name string // "br0"; at most 15 characters
	// NIC is the interface below it; empty: the one that the machine boots
	// from.
	NIC string
	// Subnet by name or CIDR from which the machine gets its address; empty:
	// that of the NIC.
	Subnet string
}

// Host is a VM host as it was last seen.
type Host struct {
	// Machine is what its LXD runs on; zero as long as MAAS knows none.
	Machine Machine
	// VMHost is its record in MAAS; zero until it is registered.
	VMHost VMHost
	// Ours tells that the machine carries the mark of the key it was asked for
	// by.
	Ours bool
	// Finished tells that it once reached what was wanted.
	Finished bool
	// Registered tells that VMHost was registered for the key that it was asked for
	// by, and not by somebody else: it carries the key's mark, or its machine, which
	// is the key's, has noted it.
	Registered bool
	// Key is whose it is, as its machine says; empty: it carries no mark.
	Key Key
	// FormerKey is whose it was before it was renamed; empty: it never was.
	FormerKey Key
	// Address of its LXD, as its machine says; empty: it does not.
	Address string
	// Fingerprint of the client certificate that its LXD was made to trust, as
	// its machine says; empty: it does not.
	Fingerprint string
	// ServerFingerprint is that of the certificate which its LXD was seen with,
	// as its machine says; empty: only MAAS has seen it.
	ServerFingerprint string
}

// MaxInterfaceName is the longest name that Linux gives an interface
// (IFNAMSIZ, without its zero). MAAS takes longer ones, and then the
// deployment fails.
const MaxInterfaceName = 15

var interfaceNamePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*$`)

func (b *BridgeSpec) validate() error {
	switch {
	case b == nil:
		return nil
	case len(b.Name) > MaxInterfaceName:
		return &SpecError{
			Field: fieldpath.New("bridge", "name"), Message: fmt.Sprintf("%q has %d characters", b.Name, len(b.Name)),
			Hint: fmt.Sprintf("Linux takes at most %d; lxd.networks names the bridge, too, where bridge does not.", MaxInterfaceName),
		}
	case !interfaceNamePattern.MatchString(b.Name):
		return &SpecError{Field: fieldpath.New("bridge", "name"), Message: fmt.Sprintf("%q is no name of a bridge", b.Name), Hint: `Use a letter, then letters, digits, ".", "_" and "-": "br0".`}
	}
	return nil
}

// Fingerprint is the SHA-256 of the certificate, in hex, as LXD names it. It is
// empty for what is no PEM.
func (c Credentials) Fingerprint() string {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

// String names the certificate. The key is never printed, by whatever verb or
// handler: specs end up in logs and messages.
func (c Credentials) String() string {
	if f := c.Fingerprint(); f != "" {
		return "certificate " + f
	}
	return "no certificate"
}

// Format implements fmt.Formatter, for all verbs and flags.
func (c Credentials) Format(f fmt.State, _ rune) {
	io.WriteString(f, c.String()) //nolint:errcheck // a Formatter has nowhere to report to
}

// LogValue implements slog.LogValuer.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (s HostSpec) validateServer() error {
	if s.ServerFingerprint == "" || IsFingerprint(s.ServerFingerprint) {
		return nil
	}
	return &SpecError{
		Field: fieldpath.New("server_fingerprint"), Message: fmt.Sprintf("%q is no fingerprint", s.ServerFingerprint),
		Hint: "Write the 64 hex digits, in small letters and without colons, that `lxc info` says on the host as certificate_fingerprint.", Err: ErrInvalid,
	}
}

// Validate checks what can be checked without asking MAAS. The error is a
// *SpecError.
func (s HostSpec) Validate() error {
	for _, ratio := range []struct {
		field string
		value float64
	}{{"cpu_overcommit", s.CPUOvercommit}, {"memory_overcommit", s.MemoryOvercommit}} {
		if !(ratio.value >= 0 && ratio.value <= 10) { // NaN too
			return &SpecError{Field: fieldpath.New(ratio.field), Message: fmt.Sprintf("%g is no over-commit ratio", ratio.value), Hint: "MAAS takes up to 10; 1 is none."}
		}
	}
	if err := s.validateServer(); err != nil {
		return err
	}
	switch {
	case s.Project == "":
		return &SpecError{Field: fieldpath.New("project"), Message: "there is no LXD project", Hint: `Name the one in which MAAS shall make VMs, such as "maas".`}
	case s.Credentials.Certificate == "" || s.Credentials.Key == "":
		return &SpecError{Field: fieldpath.New("lxd_client_cert"), Message: "there is no client certificate with its key", Hint: "LXD must know MAAS by a certificate that was given to both."}
	case s.Address != "":
		return nil
	case s.Machine.Deploy != nil && s.Machine.Deploy.Storage != nil && strings.HasPrefix(s.Machine.Deploy.Storage.Type, "vmfs"):
		return &SpecError{
			Field: storageField.Child("type"), Message: s.Machine.Deploy.Storage.Type + " is for VMware ESXi, on which there is no LXD", Hint: `Use "flat", "lvm" or "bcache".`,
		}
	case s.Machine.Deploy == nil && !s.Machine.Adopt:
		return &SpecError{Field: fieldpath.New("deploy"), Message: "a machine must be deployed to become a VM host", Hint: "Say what to deploy, or adopt a machine that is Deployed."}
	}
	if s.Machine.Adopt {
		return errors.Join(s.Machine.Validate(), s.Bridge.validate())
	}
	if err := errors.Join(s.Bridge.validate(), s.Network.Validate()); err != nil {
		return errors.Join(s.Machine.Validate(), err) // the first boot has a network of that name
	}
	return errors.Join(s.Machine.Validate(), s.validateFirstBoot())
}
