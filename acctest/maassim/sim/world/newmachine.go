package world

import (
	"fmt"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// NewMachine makes a machine in status New with MAAS's defaults.
func (w *World) NewMachine(hostname string) *Machine {
	m := &Machine{
		World: w, SystemID: w.NewSystemID(), Hostname: hostname, Status: StatusNew, Netboot: true,
		Zone: w.DefaultZone(), Pool: w.Pools[0], Domain: w.DefaultDomain(), PowerState: "unknown",
		Architecture: DefaultArchitecture, CommissioningStatus: -1, TestingStatus: -1,
	}
	m.Storage.Host = storageHost{m}
	w.Machines[m.SystemID] = m
	return m
}

// AddDisk gives the machine another disk, named as in LXD's VMs or as in a server.
func (m *Machine) AddDisk(sizeBytes int64, pool string, tags []string, model string) {
	n := len(m.Storage.Disks)
	d := m.Storage.AddDisk(&storage.Disk{Name: "sd" + string(rune('a'+n)), SizeBytes: sizeBytes, BlockSize: storage.MinBlockSize, Pool: pool, StoragePool: pool, Tags: tags, Model: model})
	if model == LXDDiskModel {
		d.Serial = lxdSerial(n)
		d.IDPath = lxdDiskPathPrefix + d.Serial
	} else {
		d.Serial = fmt.Sprintf("S%06d", d.ID)
		d.IDPath = "/dev/disk/by-id/wwn-" + d.Serial
	}
}

// FoundDisks are an instance's disks as commissioning finds them.
func FoundDisks(i *Instance) (disks []storage.FoundDisk) {
	firmware := "2.5+"
	for n, v := range i.Disks {
		serial := lxdSerial(n)
		disks = append(disks, storage.FoundDisk{
			Name: "sd" + string(rune('a'+n)), Model: LXDDiskModel, Serial: serial, IDPath: lxdDiskPathPrefix + serial, SizeBytes: v.SizeBytes,
			Tags: []string{"ssd"}, Firmware: &firmware,
		})
	}
	return disks
}

// lxdDiskPathPrefix is the start of the paths of LXD's disks.
const lxdDiskPathPrefix = "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_"

// lxdSerial is the serial number of a VM's nth disk.
func lxdSerial(n int) string {
	if n == 0 {
		return "lxd_root"
	}
	return fmt.Sprintf("lxd_disk%d", n)
}

// LXDDiskModel is the model name that QEMU gives to disks of LXD.
const LXDDiskModel = "QEMU HARDDISK"

// AddNIC gives the machine another interface. Its name is eth0, eth1, … until
// commissioning finds its real name.
func (m *Machine) AddNIC(mac string, n *Subnet) *NIC {
	i := &NIC{ID: m.World.NextID("interface"), Name: "eth" + strconv.Itoa(len(m.NICs)), MAC: mac, Kind: "physical", RealSubnet: n}
	if n != nil {
		i.VLAN = n.VLAN
	}
	m.NICs = append(m.NICs, i)
	return i
}

func newUUID(w *World) string {
	a, b := w.Rand.Uint64(), w.Rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b>>48)&0xfff, b&0xffffffffffff)
}
