package maas

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// The types in this file are MAAS's JSON, limited to the fields that are used.

// wireNamed is a zone, resource pool or domain, or a reference to one.
type wireNamed struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// makePrintable removes unprintable characters from names. MAAS accepts no such name, but
// errors and conditions show whatever it answers.
func makePrintable(names ...*string) {
	for _, name := range names {
		if strings.ContainsFunc(*name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			*name = api.Shorten(*name)
		}
	}
}

type wireMachine struct {
	SystemID     string          `json:"system_id"`
	Hostname     string          `json:"hostname"`
	FQDN         string          `json:"fqdn"`
	Status       int             `json:"status"`
	StatusName   string          `json:"status_name"`
	StatusText   string          `json:"status_message"` // null after compose
	PowerState   string          `json:"power_state"`
	PowerType    string          `json:"power_type"`
	Locked       bool            `json:"locked"`
	Owner        string          `json:"owner"`
	Description  string          `json:"description"`
	Zone         wireNamed       `json:"zone"`
	Pool         wireNamed       `json:"pool"`
	Domain       wireNamed       `json:"domain"`
	TagNames     []string        `json:"tag_names"`
	Host         wireNamed       `json:"pod"` // null on bare metal
	CPUCount     int             `json:"cpu_count"`
	MemoryMiB    int64           `json:"memory"`
	Architecture string          `json:"architecture"`
	Disks        []wireDisk      `json:"physicalblockdevice_set"`
	BootDisk     wireDisk        `json:"boot_disk"` // null if there is none
	Interfaces   []wireInterface `json:"interface_set"`
	Boot         wireInterface   `json:"boot_interface"` // null if there is none
	OSystem      string          `json:"osystem"`
	DistroSeries string          `json:"distro_series"`
	Kernel       string          `json:"hwe_kernel"`
	Ephemeral    bool            `json:"ephemeral_deploy"`
	HardwareSync bool            `json:"enable_hw_sync"`
	SwapSize     *int64          `json:"swap_size"`
	IPAddresses  []string        `json:"ip_addresses"`
	Gateways     struct {
		IPv4 wireGateway `json:"ipv4"`
		IPv6 wireGateway `json:"ipv6"`
	} `json:"default_gateways"`

	OwnerData map[string]string `json:"owner_data"`
}

type wireDisk struct {
	ID        int      `json:"id"`
	Name      string   `json:"name"`
	SizeBytes int64    `json:"size"`
	Pool      string   `json:"storage_pool"`
	Tags      []string `json:"tags"`
}

type wireInterface struct {
	ID      int        `json:"id"`
	Name    string     `json:"name"`
	MAC     string     `json:"mac_address"`
	Type    string     `json:"type"` // "physical", "bridge", …
	VLAN    wireVLAN   `json:"vlan"` // null for none
	Parents []string   `json:"parents"`
	Links   []wireLink `json:"links"`
	Params  wireParams `json:"params"`
}

// wireGateway is a default gateway that a user chose. Its address is null if MAAS chooses.
type wireGateway struct {
	IP     string `json:"gateway_ip"`
	LinkID *int   `json:"link_id"` // null where MAAS chose
}

// wireParams are an interface's own parameters. MAAS writes an empty text for none.
type wireParams struct {
	MTU        int    `json:"mtu"`
	Mode       string `json:"bond_mode"`
	LACPRate   string `json:"bond_lacp_rate"`
	HashPolicy string `json:"bond_xmit_hash_policy"`
}

// UnmarshalJSON treats anything that is not an object as no parameters.
func (p *wireParams) UnmarshalJSON(data []byte) error {
	type plain wireParams
	if !bytes.HasPrefix(data, []byte("{")) {
		return nil
	}
	return json.Unmarshal(data, (*plain)(p))
}

type wireVLAN struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	VID    int    `json:"vid"`
	DHCP   bool   `json:"dhcp_on"`
	Fabric string `json:"fabric"`
}

type wireLink struct {
	ID     int        `json:"id"`
	Mode   string     `json:"mode"`
	IP     string     `json:"ip_address"`
	Subnet wireSubnet `json:"subnet"` // null for link_up
}

type wireSubnet struct {
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	CIDR    string   `json:"cidr"`
	VLAN    wireVLAN `json:"vlan"`
	Space   string   `json:"space"`
	Gateway string   `json:"gateway_ip"` // null for none
}

type wireHost struct {
	ID               int        `json:"id"`
	Name             string     `json:"name"`
	Type             string     `json:"type"` // "lxd" or "virsh"
	Version          string     `json:"version"`
	Zone             wireNamed  `json:"zone"`
	Pool             wireNamed  `json:"pool"`
	Tags             []string   `json:"tags"`
	Total            wireAmount `json:"total"`
	Used             wireAmount `json:"used"`
	CPUOvercommit    float64    `json:"cpu_over_commit_ratio"`
	MemoryOvercommit float64    `json:"memory_over_commit_ratio"`
	StoragePools     []wirePool `json:"storage_pools"`
	Architectures    []string   `json:"architectures"`
	Machine          struct {
		SystemID string `json:"system_id"`
	} `json:"host"` // null until MAAS first reaches the LXD
}

type wireAmount struct {
	Cores     int64 `json:"cores"`
	MemoryMiB int64 `json:"memory"`
}

type wirePool struct {
	Name           string `json:"name"`
	Type           string `json:"type"`
	TotalBytes     int64  `json:"total"`
	AvailableBytes int64  `json:"available"`
	Default        bool   `json:"default"`
}

// image returns the deployed image, named like a boot resource.
func (m wireMachine) image() string {
	if m.OSystem == "" || m.DistroSeries == "" || strings.Contains(m.DistroSeries, "/") {
		return m.DistroSeries
	}
	return m.OSystem + "/" + m.DistroSeries
}
