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

// HostSpec is a wanted VM host: a machine that runs LXD, or an existing LXD server, registered
// in MAAS.
type HostSpec struct {
	// Machine is the machine that runs LXD. It is ignored if Address is given.
	Machine MachineSpec
	// Address of an existing LXD server: "10.0.0.5" or "https://10.0.0.5:8443". Such a host is
	// only registered.
	Address string
	// Name of the VM host in MAAS; empty: the machine's hostname.
	Name string
	// Project is the LXD project in which MAAS makes VMs. It cannot change: MAAS would delete
	// the VMs of the old one.
	Project string
	// Credentials are the key pair by which LXD knows MAAS and this program.
	Credentials Credentials
	// ServerFingerprint is the SHA-256, in hex, of the certificate that the LXD must show from
	// the first contact on. Set it to accept a new certificate. Empty: the certificate of the
	// first contact counts.
	ServerFingerprint string
	// LXD says how the machine sets LXD up at its first boot. It is not used for an adopted
	// machine, or with Address. The engine fills in Project and the certificate of Credentials
	// as a trusted one. It adds the user-data of Machine.Deploy as an extra part.
	LXD cloudinit.Host
	// PoolPercent is the part of the machine's first disk for a storage pool in a file that
	// names no size. Zero: cloudinit's default size.
	PoolPercent int
	// Bridge is made in MAAS before the machine is deployed, so that VMs get an address from
	// MAAS. Nil: no bridge is made.
	Bridge *BridgeSpec
	// Network is made instead of Bridge, which is nil then.
	Network *NetworkSpec
	// Zone and Pool are names; empty: MAAS's defaults.
	Zone string
	Pool string
	// Tags that the VM host must carry. It must not carry RemovedTags.
	Tags        []string
	RemovedTags []string
	// CPUOvercommit and MemoryOvercommit are MAAS's ratios, up to 10. Zero leaves them alone;
	// MAAS begins with 1.
	CPUOvercommit    float64
	MemoryOvercommit float64
	// DefaultStoragePool is the pool for disks that name no pool; empty: LXD's first.
	DefaultStoragePool string
	// AdoptExistingVMs allows you to register an LXD whose project holds VMs. MAAS makes
	// machines of them, and power-cycles them.
	AdoptExistingVMs bool
	// AwaitName says to wait for a name that another host of the same owner has. The engine
	// waits as long as this process renames or deletes that host, and otherwise for half a
	// minute. Without AwaitName, or with another owner, the taken name is an error at once.
	AwaitName bool
	// AcceptSilentLXD says that a finished host is done although its LXD does not answer, if only
	// records of MAAS differ.
	AcceptSilentLXD bool
}

// BridgeSpec is a bridge on a NIC of a machine.
type BridgeSpec struct {
	Name string // "br0"; at most 15 characters
	// NIC is the interface below it; empty: the one that the machine boots from.
	NIC string
	// Subnet, by name or CIDR, from which the machine gets its address; empty: that of the NIC.
	Subnet string
}

// Host is a VM host as it was last seen.
type Host struct {
	// Machine is the machine that runs its LXD; zero as long as MAAS knows none.
	Machine Machine
	// VMHost is its record in MAAS; zero until it is registered.
	VMHost VMHost
	// Ours means that the machine carries the mark of the requested key, or is still allocated for
	// it after somebody deleted its owner data by hand.
	Ours bool
	// Finished means that it once reached the wanted state.
	Finished bool
	// Registered means that VMHost was registered for the requested key, not by somebody else.
	// It carries the key's mark, or the key's machine has noted it.
	Registered bool
	// Key is the key in the machine's mark, or the requested key if the machine is Ours without a
	// mark; empty: neither.
	Key Key
	// FormerKey is the key from before it was renamed; empty: it was never renamed.
	FormerKey Key
	// Address of its LXD, as the machine notes it; empty: no note.
	Address string
	// Fingerprint of the client certificate that its LXD was made to trust, as the machine
	// notes it; empty: no note.
	Fingerprint string
	// ServerFingerprint is that of the certificate that its LXD showed, as the machine notes
	// it. Empty: only MAAS has seen it.
	ServerFingerprint string
}

// MaxInterfaceName is the longest name that Linux gives an interface (IFNAMSIZ, without its
// zero). MAAS accepts longer names, and then the deployment fails.
const MaxInterfaceName = 15

var interfaceNamePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*$`)

func (b *BridgeSpec) validate() error {
	switch {
	case b == nil:
		return nil
	case len(b.Name) > MaxInterfaceName:
		return &SpecError{
			Field: fieldpath.New("bridge", "name"), Message: fmt.Sprintf("%q has %d characters", b.Name, len(b.Name)),
			Hint: fmt.Sprintf("Linux takes at most %d. Without bridge, the name comes from lxd.networks.", MaxInterfaceName),
		}
	case !interfaceNamePattern.MatchString(b.Name):
		return &SpecError{Field: fieldpath.New("bridge", "name"), Message: fmt.Sprintf("%q is not a valid bridge name", b.Name), Hint: `Use a letter, then letters, digits, ".", "_" and "-": "br0".`}
	}
	return nil
}

// Fingerprint is the SHA-256 of the certificate, in hex, as LXD writes it. It is empty if the
// certificate is not PEM.
func (c Credentials) Fingerprint() string {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

// UntrustedText says that the LXD at an address does not trust a client certificate. An address
// and its URL give the same text.
func UntrustedText(address, fingerprint string) string {
	return fmt.Sprintf("the LXD at %s does not trust the client certificate %s", strings.TrimPrefix(address, "https://"), fingerprint)
}

// CertificateFileHint says how to make FILE.crt, which other hints name.
const CertificateFileHint = "FILE.crt is a file with the certificate alone: openssl x509 -in lxd-client.pem -out FILE.crt makes it from the file of the key pair."

// String names the certificate. No verb or handler ever prints the key: specs end up in logs
// and messages.
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
		Field: fieldpath.New("server_fingerprint"), Message: fmt.Sprintf("%q is not a fingerprint", s.ServerFingerprint),
		Hint: "Write 64 hex digits in lower case, without colons: `lxc info` on the host shows them as certificate_fingerprint.", Err: ErrInvalid,
	}
}

// Validate checks the spec without asking MAAS. The error is a *SpecError.
func (s HostSpec) Validate() error {
	for _, ratio := range []struct {
		field string
		value float64
	}{{"cpu_overcommit", s.CPUOvercommit}, {"memory_overcommit", s.MemoryOvercommit}} {
		if !(ratio.value >= 0 && ratio.value <= 10) { // NaN too
			return &SpecError{Field: fieldpath.New(ratio.field), Message: fmt.Sprintf("%g is not an over-commit ratio", ratio.value), Hint: "Give a number above 0 and up to 10, or leave it out. 1 means no over-commit."}
		}
	}
	if err := s.validateServer(); err != nil {
		return err
	}
	switch {
	case s.Project == "":
		return &SpecError{Field: fieldpath.New("project"), Message: "no LXD project is named", Hint: `Name the project in which MAAS makes VMs, such as "maas".`}
	case s.Credentials.Certificate == "" || s.Credentials.Key == "":
		return &SpecError{Field: fieldpath.New("lxd_client_cert"), Message: "there is no client certificate with its key", Hint: "Give a certificate and its key: by them LXD knows MAAS."}
	case s.Address != "":
		return nil
	case s.Machine.Deploy != nil && s.Machine.Deploy.Storage != nil && strings.HasPrefix(s.Machine.Deploy.Storage.Type, "vmfs"):
		return &SpecError{
			Field: storageField.Child("type"), Message: s.Machine.Deploy.Storage.Type + " is for VMware ESXi, which cannot run LXD", Hint: `Use "flat", "lvm" or "bcache".`,
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
