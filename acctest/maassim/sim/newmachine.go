package sim

import (
	"fmt"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// newMachine makes a machine in status New with MAAS's defaults.
func (w *world) newMachine(hostname string) *machine {
	m := &machine{
		w: w, systemID: w.newSystemID(), hostname: hostname, status: StatusNew, netboot: true,
		zone: w.defaultZone(), pool: w.pools[0], domain: w.domains[0], powerState: "unknown",
		architecture: "amd64/generic", commissioningStatus: -1, testingStatus: -1,
	}
	w.machines[m.systemID] = m
	return m
}

// addDisk gives the machine its next disk as LXD's VMs show it.
func (m *machine) addDisk(sizeBytes int64, pool string, tags []string, model string) {
	n := len(m.disks)
	d := &disk{id: m.w.nextID("blockdevice"), name: "sd" + string(rune('a'+n)), sizeBytes: sizeBytes, pool: pool, storagePool: pool, tags: tags, model: model}
	if model == lxdDisk {
		d.serial = "lxd_root"
		if n > 0 {
			d.serial = fmt.Sprintf("lxd_disk%d", n)
		}
		d.idPath = "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_" + d.serial
	} else {
		d.serial = fmt.Sprintf("S%06d", d.id)
		d.idPath = "/dev/disk/by-id/wwn-" + d.serial
	}
	m.disks = append(m.disks, d)
}

// lxdDisk is the model of a disk that QEMU shows for LXD's volumes.
const lxdDisk = "QEMU HARDDISK"

// addNIC gives the machine its next interface, named eth0, eth1, … until
// commissioning finds its real name.
func (m *machine) addNIC(mac string, n *subnet) *nic {
	i := &nic{id: m.w.nextID("interface"), name: "eth" + itoa(len(m.nics)), mac: mac, kind: "physical"}
	if n != nil {
		i.vlan = n.vlan
	}
	m.nics = append(m.nics, i)
	return i
}

// layOut applies MAAS's flat storage layout to the first disk.
func (m *machine) layOut() {
	if len(m.disks) == 0 || len(m.disks[0].partitions) > 0 {
		return
	}
	d := m.disks[0]
	root := usable(d.sizeBytes) - efiBytes
	if root <= 0 {
		return
	}
	part := func(size int64, boot bool, fstype, label, mount string) partition {
		return partition{id: m.w.nextID("partition"), sizeBytes: size, bootable: boot, fstype: fstype, label: label, mount: mount,
			partUUID: m.w.newUUID(), filesystemUID: m.w.newUUID()}
	}
	d.partitions = []partition{
		part(efiBytes, true, "fat32", "efi", "/boot/efi"),
		part(root, false, "ext4", "root", "/"),
	}
}

func (w *world) newUUID() string {
	a, b := w.rand.Uint64(), w.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b>>48)&0xfff, b&0xffffffffffff)
}
