package main

import (
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const (
	// vmHosts is the number of VM hosts in the simulated MAAS, for VMs.
	vmHosts = 50
	// vmCores, vmMemoryMiB and vmDiskGB are the most that a VM of a
	// configuration may take, so that all find room.
	vmCores, vmMemoryMiB, vmDiskGB = 2, 4096, 20
)

// simulatedTimes are the times that MAAS takes in a measured run. Real ones are
// minutes. The shorter they are, the better they show what a provider wastes.
var simulatedTimes = sim.Latency{
	Call: 20 * time.Millisecond, Compose: 300 * time.Millisecond,
	Commission: 5 * time.Second, Deploy: 5 * time.Second,
	Release: 2 * time.Second, Delete: 100 * time.Millisecond,
	FirstBoot: 3 * time.Second, Inventory: 500 * time.Millisecond,
}

// varyingBootTimes are the same times with first boots of 2 to 20 s. So a
// provider learns nothing for the next host from one host.
var varyingBootTimes = func() sim.Latency {
	l := simulatedTimes
	l.FirstBoot, l.FirstBootMost = 2*time.Second, 20*time.Second
	return l
}()

// instantTimes are those of a MAAS in which only calls take time. It makes VMs
// that are then read.
var instantTimes = sim.Latency{Call: simulatedTimes.Call}

// emptyModel is a MAAS without machines.
func emptyModel(times sim.Latency) sim.Model {
	return sim.Model{
		MAASVersion: sim.Version37,
		Pools:       []string{"changed"},
		Subnets:     []sim.SubnetModel{{Name: "lan", CIDR: "10.64.0.0/16", DHCP: true}},
		Latency:     times,
		Seed:        1,
	}
}

// vmModel is a MAAS with room for that many VMs even if all go to one host. A
// provider that places badly is to be measured, not stopped.
func vmModel(vms int, times sim.Latency) sim.Model {
	m := emptyModel(times)
	for i := range vmHosts {
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: fmt.Sprintf("host%d", i+1), Cores: vmCores * vms, MemoryMiB: int64(vmMemoryMiB * vms),
			StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: int64(vmDiskGB * vms), Default: true}},
		})
	}
	return m
}

// hostModel is a MAAS with twice as many bare machines as hosts are wanted.
func hostModel(hosts int, times sim.Latency) sim.Model {
	m := emptyModel(times)
	for i := range 2 * hosts {
		m.Machines = append(m.Machines, sim.MachineModel{
			Hostname: fmt.Sprintf("machine%d", i+1), Cores: 32, MemoryMiB: 128 << 10, DiskGB: 960,
		})
	}
	return m
}

// waves is how many batches of that parallelism are needed until all are done.
func waves(vms, parallelism int) time.Duration {
	return time.Duration((vms + parallelism - 1) / parallelism)
}
