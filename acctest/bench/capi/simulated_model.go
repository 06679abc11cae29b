package main

import (
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const (
	// vmHosts is the number of VM hosts in the simulated MAAS.
	vmHosts = 50
	// vmCores, vmMemoryMiB and vmDiskGB are what a machine asks for.
	vmCores, vmMemoryMiB, vmDiskGB = 2, 4096, 20
)

// simulatedTimes are the times that MAAS takes while machines are made and deleted.
// Real ones are minutes: what the bridge wastes shows the better the shorter they
// are.
var simulatedTimes = sim.Latency{
	Call: 20 * time.Millisecond, Compose: 300 * time.Millisecond,
	Commission: 5 * time.Second, Deploy: 5 * time.Second,
	Release: 2 * time.Second, Delete: 100 * time.Millisecond,
}

// instantTimes is a MAAS in which only calls take time: for making machines that are
// then left alone.
var instantTimes = sim.Latency{Call: simulatedTimes.Call}

// idealMachineTime is what MAAS needs to make one machine.
func idealMachineTime(l sim.Latency) time.Duration { return l.Compose + l.Commission + l.Deploy }

// simulatedModel is a MAAS whose hosts have room for so many machines and no more, each
// the same: one that is placed wrongly is in another's way.
func simulatedModel(machines int, times sim.Latency) sim.Model {
	m := sim.Model{
		MAASVersion: sim.Version37, Zones: []string{"az1", "az2", "az3"},
		Subnets: []sim.SubnetModel{{Name: "lan", CIDR: "10.64.0.0/16", DHCP: true}},
		Latency: times, Seed: 1,
	}
	each := (machines + vmHosts - 1) / vmHosts
	for i := range vmHosts {
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: fmt.Sprintf("host%d", i+1), Zone: m.Zones[i%len(m.Zones)], Cores: vmCores * each, MemoryMiB: int64(vmMemoryMiB * each),
			StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: int64(vmDiskGB * each), Default: true}},
		})
	}
	return m
}
