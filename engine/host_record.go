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

// FingerprintData is the owner data that notes which client certificate a host's LXD was made
// to trust.
const FingerprintData = "maaslxd-fingerprint"

// TrustedFingerprint is that of the client certificate that the machine's LXD was made to
// trust, as the machine notes it. Empty: no note.
func (m Machine) TrustedFingerprint() string { return m.OwnerData[FingerprintData] }

// HostTag is the tag of the machines of LXD hosts in MAAS. One listing finds them all, whether
// MAAS has VM hosts or not.
const HostTag = "maaslxd-host"

// Owner data of a host's machine. They keep what MAAS forgets of its VM host when it drops VM
// hosts, so that a fleet can be taken over. Where MAAS has no VM hosts, they are all that is
// known of the host.
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

// HostRecord is what the machine of an LXD host notes about the host.
type HostRecord struct {
	Name string
	Endpoint
	Zone string
	Pool string // resource pool
	Tags []string
	// CPUOvercommit and MemoryOvercommit are ratios; zero: none is noted.
	CPUOvercommit    float64
	MemoryOvercommit float64
	// DefaultStoragePool is the pool for disks that name no pool; empty: LXD's first.
	DefaultStoragePool string
	// ServerFingerprint is that of the certificate that the LXD showed; empty: nobody has noted
	// it.
	ServerFingerprint string
}

// HostRecord reads the machine's notes. ok is false for a machine that is no LXD host of ours:
// it lacks the tag, or the address of its LXD. Without a note, name, zone and pool are the
// machine's own.
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
	record.CPUOvercommit, _ = strconv.ParseFloat(data[cpuOvercommitData], 64) // an unreadable number counts as none
	record.MemoryOvercommit, _ = strconv.ParseFloat(data[memoryOvercommitData], 64)
	return record, true
}

// NotedVMHostID is MAAS's number of the VM host that this program noted on the machine; 0: none.
func (m Machine) NotedVMHostID() int {
	id, _ := strconv.Atoi(m.OwnerData[VMHostData]) // an unreadable number counts as none
	return id
}

// OwnerData writes the record as owner data, without the server certificate, which is noted
// when it is seen. An empty value means none.
func (r HostRecord) OwnerData() map[string]string {
	return map[string]string{
		nameData: r.Name, AddressData: r.Address, ProjectData: r.Project, zoneData: r.Zone, poolData: r.Pool,
		tagsData: strings.Join(r.Tags, ","), storagePoolData: r.DefaultStoragePool,
		cpuOvercommitData: RatioText(r.CPUOvercommit), memoryOvercommitData: RatioText(r.MemoryOvercommit),
	}
}

// RatioText is an over-commit ratio as owner data; empty: none is noted.
func RatioText(r float64) string {
	if r == 0 {
		return ""
	}
	return strconv.FormatFloat(r, 'g', -1, 64)
}

// FormerKeyData notes the key of a host from before it was renamed. A run that dies after the
// rename leaves a state that knows the host by that key only.
const FormerKeyData = "maaslxd-former-key"

// CurrentKey is the key of the machine now, for a caller that knows it by key. It differs from
// key if the machine was renamed from it.
func (m Machine) CurrentKey(key Key) Key {
	if now := Key(m.OwnerData[KeyData]); now != "" && key != "" && Key(m.OwnerData[FormerKeyData]) == key {
		return now
	}
	return key
}

// ServerNote is the owner data that notes the certificate an LXD showed.
func ServerNote(fingerprint string) map[string]string {
	return map[string]string{ServerFingerprintData: fingerprint}
}

var fingerprintPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsFingerprint reports whether a text is a SHA-256 as LXD writes it: 64 hex digits in lower
// case.
func IsFingerprint(s string) bool { return fingerprintPattern.MatchString(s) }

// ServerFingerprintData is the owner data that notes the certificate that a host's LXD first
// showed. A release clears it: a new deployment has another certificate.
const ServerFingerprintData = "maaslxd-server-fingerprint"

// CheckIsNoVMHost refuses an act that would destroy the VMs of a VM host; the VM host may be a
// VM itself. verb names the act, such as "redeploy". A machine that is still becoming a VM host
// carries our owner data already.
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
