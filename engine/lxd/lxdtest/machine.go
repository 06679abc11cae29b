package lxdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Machine is the hardware that an LXD sees, whatever the real hardware is. This is possible
// because VMs that are not started use none.
type Machine struct {
	// Cores and MemoryMiB default to 4 and 8192. All of the memory is free, and available
	// as huge pages.
	Cores     int
	MemoryMiB int64
	Bridges   []Bridge
	// StoragePools may be empty.
	StoragePools []StoragePool
}

// Bridge is a bridge without a link.
type Bridge struct {
	Name, MAC string   // MAC is generated if empty
	Addresses []string // with prefix length: 10.0.0.1/24
}

// StoragePool is a pool with the driver dir, on its own file system in memory.
type StoragePool struct {
	Name      string
	SizeBytes int64 // 0: 100 GB
}

const (
	defaultCores     = 4
	defaultMemoryMiB = 8192
	defaultPoolBytes = 100e9
	hugePageKiB      = 2048
)

// writeHardware writes the files from which LXD reads its hardware: those of the kernel
// below /sys/devices/system, and /proc/meminfo. It writes them in place, because they may
// be mounted.
func (s *Server) writeHardware(m Machine) error {
	cores, memory := m.Cores, m.MemoryMiB
	if cores == 0 {
		cores = defaultCores
	}
	if memory == 0 {
		memory = defaultMemoryMiB
	}
	root := filepath.Join(s.Folder, "machine")
	files := map[string]string{
		"memory/block_size_bytes": strconv.FormatInt(memory<<20, 16),
		"memory/memory0/online":   "1",
		"node/online":             "0",
		"cpu/online":              fmt.Sprintf("0-%d", cores-1),
		"meminfo":                 meminfo(memory),
	}
	for n := range cores {
		cpu := fmt.Sprintf("cpu/cpu%d/", n)
		files[cpu+"online"] = "1"
		files[cpu+"topology/core_id"] = strconv.Itoa(n)
		files[cpu+"topology/physical_package_id"] = "0"
		files[cpu+"topology/die_id"] = "0"
	}
	return writeAll(root, files)
}

// meminfo returns the lines of /proc/meminfo that LXD reads.
func meminfo(memoryMiB int64) string {
	total, pages := memoryMiB<<10, memoryMiB<<10/hugePageKiB
	return fmt.Sprintf("MemTotal: %d kB\nMemFree: %d kB\nMemAvailable: %d kB\nBuffers: 0 kB\nCached: 0 kB\n"+
		"HugePages_Total: %d\nHugePages_Free: %d\nHugepagesize: %d kB", total, total, total, pages, pages, hugePageKiB)
}

func writeAll(root string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// setUpMachine gives a running LXD its machine: hardware, bridges and storage pools.
func (s *Server) setUpMachine(m Machine) error {
	if err := s.writeHardware(m); err != nil {
		return err
	}
	var script strings.Builder
	for _, b := range m.Bridges {
		s.writeBridge(&script, b)
	}
	for _, p := range m.StoragePools {
		size := p.SizeBytes
		if size == 0 {
			size = defaultPoolBytes
		}
		fmt.Fprintf(&script, "mkdir %[1]s\nmount -t tmpfs -o size=%[2]d tmpfs %[1]s\nmkdir %[1]s/pool\n", s.mountPoint(p), size)
	}
	if err := s.runInMachine(script.String()); err != nil {
		return err
	}
	return s.makePools(m.StoragePools)
}

func (s *Server) writeBridge(script *strings.Builder, b Bridge) {
	fmt.Fprintf(script, "ip link add %s", b.Name)
	if b.MAC != "" {
		fmt.Fprintf(script, " address %s", b.MAC)
	}
	fmt.Fprintf(script, " type bridge\n")
	for _, address := range b.Addresses {
		fmt.Fprintf(script, "ip addr add %s dev %s\n", address, b.Name)
	}
	fmt.Fprintf(script, "ip link set %s up\n", b.Name)
}

// mountPoint returns where the file system of a pool is mounted.
func (s *Server) mountPoint(p StoragePool) string { return filepath.Join(s.Folder, "pools", p.Name) }

func (s *Server) makePools(pools []StoragePool) error {
	if len(pools) == 0 {
		return nil
	}
	var preseed strings.Builder
	preseed.WriteString("storage_pools:\n")
	for _, p := range pools {
		fmt.Fprintf(&preseed, "- {name: %q, driver: dir, config: {source: %q}}\n", p.Name, s.mountPoint(p)+"/pool")
	}
	_, err := s.Run(preseed.String(), "lxd", "init", "--preseed")
	return err
}
