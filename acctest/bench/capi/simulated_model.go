package main

import (
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const (
	// vmHosts is the number of VM hosts in the simulated MAAS.
	vmHosts = 50
	// vmCores, vmMemoryMiB and vmDiskGB are the size of each machine.
	vmCores, vmMemoryMiB, vmDiskGB = 2, 4096, 20
)

// simulatedTimes are the times that MAAS takes while machines are made and
// deleted. Real ones are minutes. The shorter they are, the better they show
// what the bridge wastes.
var simulatedTimes = sim.Latency{
	Call: 20 * time.Millisecond, Compose: 300 * time.Millisecond,
	Commission: 5 * time.Second, Deploy: 5 * time.Second,
	Release: 2 * time.Second, Delete: 100 * time.Millisecond,
}

// instantTimes are those of a MAAS in which only calls take time. It makes
// machines that are then left alone.
var instantTimes = sim.Latency{Call: simulatedTimes.Call}

// idealMachineTime is what MAAS needs to make one machine.
func idealMachineTime(l sim.Latency) time.Duration { return l.Compose + l.Commission + l.Deploy }

// simulatedModel is a MAAS whose hosts have room for exactly that many
// machines, all alike. A machine on the wrong host takes the room of another.
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
