package world

import (
	"fmt"
	"strconv"
)

// NewMachine makes a machine in status New with MAAS's defaults.
func (w *World) NewMachine(hostname string) *Machine {
	m := &Machine{
		World: w, SystemID: w.NewSystemID(), Hostname: hostname, Status: StatusNew, Netboot: true,
		Zone: w.DefaultZone(), Pool: w.Pools[0], Domain: w.DefaultDomain(), PowerState: "unknown",
		Architecture: "amd64/generic", CommissioningStatus: -1, TestingStatus: -1,
	}
	w.Machines[m.SystemID] = m
	return m
}

// AddDisk gives the machine its next disk as LXD's VMs show it.
func (m *Machine) AddDisk(sizeBytes int64, pool string, tags []string, model string) {
	n := len(m.Disks)
	d := &Disk{ID: m.World.NextID("blockdevice"), Name: "sd" + string(rune('a'+n)), SizeBytes: sizeBytes, pool: pool, StoragePool: pool, Tags: tags, Model: model}
	if model == LXDDisk {
		d.Serial = "lxd_root"
		if n > 0 {
			d.Serial = fmt.Sprintf("lxd_disk%d", n)
		}
		d.IDPath = "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_" + d.Serial
	} else {
		d.Serial = fmt.Sprintf("S%06d", d.ID)
		d.IDPath = "/dev/disk/by-id/wwn-" + d.Serial
	}
	m.Disks = append(m.Disks, d)
}

// LXDDisk is the model of a disk that QEMU shows for LXD's volumes.
const LXDDisk = "QEMU HARDDISK"

// AddNIC gives the machine its next interface, named eth0, eth1, … until
// commissioning finds its real name.
func (m *Machine) AddNIC(mac string, n *Subnet) *NIC {
	i := &NIC{ID: m.World.NextID("interface"), Name: "eth" + strconv.Itoa(len(m.NICs)), MAC: mac, Kind: "physical", Wire: n}
	if n != nil {
		i.VLAN = n.VLAN
	}
	m.NICs = append(m.NICs, i)
	return i
}

// LayOut applies MAAS's flat storage layout to the first disk. A machine that boots
// by UEFI gets a partition for that (storage_layouts.py).
func (m *Machine) LayOut() {
	if len(m.Disks) == 0 || len(m.Disks[0].Partitions) > 0 {
		return
	}
	part := func(size int64, boot bool, fstype, label, mount string) partition {
		return partition{ID: m.World.NextID("partition"), SizeBytes: size, Bootable: boot, Fstype: fstype, Label: label, Mount: mount,
			PartUUID: newUUID(m.World), FilesystemUID: newUUID(m.World)}
	}
	d := m.Disks[0]
	root := Usable(d.SizeBytes)
	var parts []partition
	if m.UEFI {
		root -= efiBytes
		parts = append(parts, part(efiBytes, true, "fat32", "efi", "/boot/efi"))
	}
	if root > 0 {
		d.Partitions = append(parts, part(root, false, "ext4", "root", "/"))
	}
}

// ClearStorage removes what lies on the disks: what commissioning begins with.
func (m *Machine) ClearStorage() {
	m.Mounts = nil
	for _, d := range m.Disks {
		d.Partitions = nil
	}
}

func newUUID(w *World) string {
	a, b := w.Rand.Uint64(), w.Rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b>>48)&0xfff, b&0xffffffffffff)
}
