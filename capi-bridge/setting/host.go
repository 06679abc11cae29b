package setting

import (
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/lxd/setup"
)

// Host holds the settings of a future LXD host.
type Host struct {
	Node         string // name of the node in messages
	Socket       string
	backend      string
	sizeGB       int64
	source       string
	Pool         string
	Bridge       string
	nicType      string
	nicParent    string
	Project      string
	profile      string
	listen       string
	port         int64
	certificates []string
}

// AddSettings adds the settings of a host.
func (h *Host) AddSettings(s *Settings) {
	s.AddText(&h.Node, "node-name", "NODE_NAME", "", "name of this node in messages")
	s.AddText(&h.Socket, "lxd-socket", "LXD_SOCKET", "", "LXD's unix socket (default: the one in LXD_DIR, else "+setup.SnapSocket+" or "+setup.PackageSocket+")")
	s.AddText(&h.backend, "storage-backend", "STORAGE_BACKEND", string(cloudinit.ZFS), "storage driver: zfs, btrfs, lvm or dir")
	s.AddNumber(&h.sizeGB, "storage-size", "STORAGE_SIZE", 0, "size of a new pool in a file, in GB of 10⁹ bytes (default 50; not for dir)")
	s.AddText(&h.source, "storage-source", "STORAGE_SOURCE", "", "disk (best /dev/disk/by-id/…), ZFS pool, volume group or folder for the pool, instead of a file")
	s.AddText(&h.Pool, "storage-pool", "STORAGE_POOL", cloudinit.DefaultPool, "name of the storage pool")
	s.AddText(&h.Bridge, "network-bridge", "NETWORK_BRIDGE", cloudinit.DefaultBridge, "bridge of the node that VMs join; it must exist")
	s.AddText(&h.nicType, "nic-type", "NIC_TYPE", string(cloudinit.Bridge), "how VMs are attached: bridge or macvlan")
	s.AddText(&h.nicParent, "nic-parent", "NIC_PARENT", "", "NIC of the node beside which macvlan puts VMs")
	s.AddText(&h.Project, "project", "LXD_PROJECT", cloudinit.DefaultProject, "LXD project of the VMs")
	s.AddText(&h.profile, "profile", "LXD_PROFILE", cloudinit.DefaultProfile, "profile of the project that VMs get")
	s.AddText(&h.listen, "listen-address", "LISTEN_ADDRESS", "", "IP address of LXD's API (default: all)")
	s.AddNumber(&h.port, "listen-port", "LISTEN_PORT", cloudinit.DefaultPort, "port of LXD's API")
	s.AddPEMs(&h.certificates, "trusted-certificate", "TRUSTED_CERTIFICATE",
		"public certificate of the fleet, as PEM text or the path of a file; may be given several times")
}

// backends are the drivers of pools that the command can make.
var backends = []cloudinit.Driver{cloudinit.ZFS, cloudinit.Btrfs, cloudinit.LVM, cloudinit.Dir}

// Build returns the host that the settings describe. Its errors are
// *UsageErrors, joined.
func (h *Host) Build() (cloudinit.Host, error) {
	host := cloudinit.Host{
		ListenAddress: h.listen, ListenPort: int(h.port),
		StoragePools: map[string]cloudinit.StoragePool{h.Pool: {Driver: cloudinit.Driver(h.backend), SizeGB: h.sizeGB, Source: h.source}},
		Networks:     map[string]cloudinit.Network{h.Bridge: {}},
		Project:      cloudinit.Project{Name: h.Project}, Profile: cloudinit.Profile{Name: h.profile},
	}
	switch {
	case h.nicType == string(cloudinit.Macvlan):
		host.Networks = map[string]cloudinit.Network{"macvlan": {Kind: cloudinit.Macvlan, Parent: h.nicParent}}
	case h.nicType != string(cloudinit.Bridge):
		return host, &UsageError{Flag: "--nic-type", Text: fmt.Sprintf("there is no NIC type %q", h.nicType), Hint: "Give bridge or macvlan."}
	case h.nicParent != "":
		return host, &UsageError{Flag: "--nic-parent", Text: "only macvlan has it", Hint: "Leave it out, or give --nic-type macvlan."}
	case h.backend == string(cloudinit.Ceph):
		return host, &UsageError{Flag: "--storage-backend", Text: "a ceph pool needs more settings than this command has", Hint: "Make it with lxc storage create."}
	case !slices.Contains(backends, cloudinit.Driver(h.backend)):
		return host, &UsageError{Flag: "--storage-backend", Text: fmt.Sprintf("there is no storage driver %q for VMs", h.backend), Hint: "Give zfs, btrfs, lvm or dir."}
	}
	for _, text := range h.certificates {
		host.TrustedCertificates = append(host.TrustedCertificates, splitCertificates(text)...)
	}
	if _, err := host.Setup(); err != nil {
		return host, asFlagErrors(err)
	}
	return host, nil
}

// splitCertificates returns the certificates of a text, one by one: a file may
// hold a chain. A text with anything else stays whole, and is refused later.
func splitCertificates(text string) []string {
	var all []string
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if len(all) == 0 {
				return []string{text}
			}
			return all
		}
		if block.Type != "CERTIFICATE" {
			return []string{text}
		}
		all = append(all, string(pem.EncodeToMemory(block)))
	}
}

// asFlagErrors replaces the fields in the errors by flags.
func asFlagErrors(err error) error {
	fields := cloudinit.FieldErrors(err)
	if len(fields) == 0 {
		return err
	}
	var all []error
	for _, f := range fields {
		all = append(all, &UsageError{Flag: "--" + flagForField(f.Field), Text: f.Message, Hint: asSentence(f.Hint)})
	}
	return errors.Join(all...)
}

var poolFlags = map[string]string{"driver": "storage-backend", "size_gb": "storage-size", "source": "storage-source"}

// flagForField returns the flag of a field of a cloudinit.Host.
func flagForField(field fieldpath.Path) string {
	last := field.LastName()
	switch root := field.RootName(); root {
	case "storage_pools":
		if name, ok := poolFlags[last]; ok {
			return name
		}
		return "storage-pool"
	case "networks":
		if last == "parent" {
			return "nic-parent"
		}
		return "network-bridge"
	case "project", "profile":
		return root
	case "listen_address", "listen_port":
		return strings.ReplaceAll(root, "_", "-")
	}
	return "trusted-certificate"
}

// asSentence makes a sentence of a hint.
func asSentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
