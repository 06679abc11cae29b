package world

// Disk is a block device. Sizes are bytes.
type Disk struct {
	ID                          int
	Name, Model, Serial, IDPath string
	SizeBytes                   int64
	Tags                        []string
	pool                        string // where the volume lies, empty for none
	StoragePool                 string // what MAAS shows of it
	Firmware                    string
	Partitions                  []partition
}

// partition is a part of a disk that MAAS's storage layout made.
type partition struct {
	ID                      int
	SizeBytes               int64
	Bootable                bool
	Fstype, Label, Mount    string
	PartUUID, FilesystemUID string
}

// NIC is a network interface.
type NIC struct {
	ID         int
	Name, MAC  string
	Kind       string  // "physical" or "bridge"
	VLAN       *VLAN   // as MAAS knows it; nil: disconnected
	Wire       *Subnet // where it is really attached, which commissioning finds
	Vendor     string  // known after commissioning
	Product    string
	Links      []*Link
	Discovered []Discovery
	Tags       []string
	Parents    []*NIC
	Params     map[string]any
	OnHost     bool
	Deployed   bool // made by bridge_all: gone with the release
}

// Discovery is an address that DHCP gave while commissioning.
type Discovery struct {
	ID     int // among the links': MAAS keeps both in one table
	Subnet *Subnet
	IP     string
}

// Usable is what the flat layout can cut from a disk.
func Usable(sizeBytes int64) int64 {
	return max(((sizeBytes-(1<<20))/allotment-1)*allotment, 0)
}
