package engine

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// FingerprintData is the owner data by which a host's machine says which client
// certificate its LXD was made to trust.
const FingerprintData = "maaslxd-fingerprint"

// TrustedFingerprint is that of the client certificate which the LXD of the machine
// was made to trust, as it says itself; empty: it does not.
func (m Machine) TrustedFingerprint() string { return m.OwnerData[FingerprintData] }

// HostTag is the tag that the machines of LXD hosts carry in MAAS, so that one
// listing finds them all, whether MAAS has VM hosts or not.
const HostTag = "maaslxd-host"

// Owner data of a host's machine: what MAAS will forget of its VM host when it
// drops VM hosts, so that a fleet can be taken over. Where MAAS has none, they
// are all that is known of the host.
const (
	VMHostData           = "maaslxd-vm-host"
	nameData             = "maaslxd-name"
	ProjectData          = "maaslxd-project"
	AddressData          = "maaslxd-address"
	zoneData             = "maaslxd-zone"
	poolData             = "maaslxd-pool"
	tagsData             = "maaslxd-tags"
	cpuOvercommitData    = "maaslxd-cpu-overcommit"
	memoryOvercommitData = "maaslxd-memory-overcommit"
	storagePoolData      = "maaslxd-storage-pool"
)

// HostRecord is what the machine of an LXD host says of it.
type HostRecord struct {
	Name string
	Endpoint
	Zone string
	Pool string // resource pool
	Tags []string
	// CPUOvercommit and MemoryOvercommit are ratios; zero: none is noted.
	CPUOvercommit    float64
	MemoryOvercommit float64
	// DefaultStoragePool is where disks go that name no pool; empty: LXD's first.
	DefaultStoragePool string
	// ServerFingerprint is that of the certificate which the LXD was seen with;
	// empty: nobody has noted it.
	ServerFingerprint string
}

// HostRecord reads what the machine says; ok is false for a machine that is no
// LXD host of ours, as it tells by its tag and the address of its LXD. Where it
// says nothing, name, zone and pool are the machine's own.
func (m Machine) HostRecord() (record HostRecord, ok bool) {
	data := m.OwnerData
	if data[AddressData] == "" || !slices.Contains(m.Tags, HostTag) {
		return HostRecord{}, false
	}
	record = HostRecord{
		Name: cmp.Or(data[nameData], m.Hostname), Zone: cmp.Or(data[zoneData], m.Zone), Pool: cmp.Or(data[poolData], m.Pool),
		Endpoint:           Endpoint{Address: data[AddressData], Project: data[ProjectData]},
		DefaultStoragePool: data[storagePoolData], ServerFingerprint: data[ServerFingerprintData],
	}
	if data[tagsData] != "" {
		record.Tags = strings.Split(data[tagsData], ",")
	}
	record.CPUOvercommit, _ = strconv.ParseFloat(data[cpuOvercommitData], 64) // what is no number is none
	record.MemoryOvercommit, _ = strconv.ParseFloat(data[memoryOvercommitData], 64)
	return record, true
}

// OwnerData is how a machine says it, but for the certificate, which is noted
// when it is seen. An empty value says that there is none.
func (r HostRecord) OwnerData() map[string]string {
	return map[string]string{
		nameData: r.Name, AddressData: r.Address, ProjectData: r.Project, zoneData: r.Zone, poolData: r.Pool,
		tagsData: strings.Join(r.Tags, ","), storagePoolData: r.DefaultStoragePool,
		cpuOvercommitData: ratio(r.CPUOvercommit), memoryOvercommitData: ratio(r.MemoryOvercommit),
	}
}

func ratio(r float64) string {
	if r == 0 {
		return ""
	}
	return strconv.FormatFloat(r, 'g', -1, 64)
}

// FormerKeyData is the key that a host was known by before it was renamed. A run that
// dies after the rename leaves a state which knows the host by that key only.
const FormerKeyData = "maaslxd-former-key"

// CurrentKey is the key of the machine, for one who knows it by key: its own now, if
// it was renamed from that one.
func (m Machine) CurrentKey(key Key) Key {
	if now := Key(m.OwnerData[KeyData]); now != "" && key != "" && Key(m.OwnerData[FormerKeyData]) == key {
		return now
	}
	return key
}

// ServerNote is the owner data of a machine whose LXD showed this certificate.
func ServerNote(fingerprint string) map[string]string {
	return map[string]string{ServerFingerprintData: fingerprint}
}

var fingerprintPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsFingerprint reports whether a text is a SHA-256 as LXD writes it: 64 hex
// digits in small letters.
func IsFingerprint(s string) bool { return fingerprintPattern.MatchString(s) }

// ServerFingerprintData is the owner data by which a host's machine says which certificate
// its LXD was first seen with. A release clears it: what is deployed anew has
// another one.
const ServerFingerprintData = "maaslxd-server-fingerprint"

// CheckIsNoVMHost refuses what would destroy the VMs of a VM host, which may be a VM itself. verb
// says what it is, such as "redeploy". One that only becomes a VM host carries our owner data
// already.
func CheckIsNoVMHost(ctx context.Context, list func(context.Context) ([]VMHost, error), m Machine, verb string) error {
	isOne := slices.Contains(m.Tags, HostTag) || m.OwnerData[FingerprintData] != ""
	if !isOne {
		hosts, err := list(ctx)
		if err != nil {
			return err
		}
		isOne = slices.ContainsFunc(hosts, func(h VMHost) bool { return h.MachineID == m.SystemID })
	}
	if !isOne {
		return nil
	}
	return &Refusal{
		Message: fmt.Sprintf("cannot %s %s (%s): it is a VM host, or becomes one", verb, m.Hostname, m.SystemID),
		Hint:    "Its VMs would be lost. Remove the VM host first, or replace it.", Err: ErrConflict,
	}
}
