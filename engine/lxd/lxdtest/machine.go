package lxdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Machine is what an LXD runs on, as it sees it, whatever there really is: VMs
// that are not started take nothing.
type Machine struct {
	// Cores and MemoryMiB are 4 and 8192 if zero. All of the memory is free, and
	// can be had in huge pages.
	Cores     int
	MemoryMiB int64
	Bridges   []Bridge
	// StoragePools may be none.
	StoragePools []StoragePool
}

// Bridge is an interface without a link.
type Bridge struct {
	Name, MAC string   // MAC is made up if empty
	Addresses []string // with the length of their prefix: 10.0.0.1/24
}

// StoragePool is one of the driver dir, on a file system of its own, in
// memory.
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

// writeHardware writes the files that LXD reads the machine from: those of the
// kernel, below /sys/devices/system, and /proc/meminfo. They are written in
// place, as they may be mounted.
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

// meminfo is /proc/meminfo as far as LXD reads it.
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

// mountPoint is where the file system of a pool lies.
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
