package main

import (
	"io/fs"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// kind is what a workload makes.
type kind struct {
	one, many string // as the report calls it
	folder    string // below a side's configuration
	created   func(sim.Latency) time.Duration
	destroyed func(sim.Latency) time.Duration
	world     func(n int, times sim.Latency) sim.Model
	variable  string // of the configuration: how many there are to be
	left      func(*sim.Server) (have, done int)
}

// vms are VMs on VM hosts that are there.
var vms = kind{
	one: "VM", many: "VMs", folder: ".", variable: "vms",
	created:   func(l sim.Latency) time.Duration { return l.Compose + l.Commission + l.Deploy },
	destroyed: func(l sim.Latency) time.Duration { return l.Release + l.Delete },
	world:     vmWorld, left: vmsLeft,
}

// hosts are VM hosts on bare machines.
var hosts = kind{
	one: "host", many: "hosts", folder: "hosts", variable: "hosts",
	created:   func(l sim.Latency) time.Duration { return l.Deploy + l.FirstBoot + l.Inventory },
	destroyed: func(l sim.Latency) time.Duration { return l.Release },
	world:     hostWorld, left: hostsLeft,
}

// vmsLeft is how many VMs are in the simulated LXDs, and how many of them MAAS
// has deployed.
func vmsLeft(maas *sim.Server) (have, done int) {
	for _, m := range maas.Machines() {
		if m.Host != "" && m.StatusName == "Deployed" {
			done++
		}
	}
	return len(maas.Instances()), done
}

// hostsLeft is how many machines somebody has, and how many of them are VM
// hosts.
func hostsLeft(maas *sim.Server) (have, done int) {
	for _, m := range maas.Machines() {
		if m.Owner != "" {
			have++
		}
		if m.HostedHosts != "" && m.StatusName == "Deployed" {
			done++
		}
	}
	return have, done
}

// of is the part of a side's configuration that does this work.
func (k kind) of(config fs.FS) (fs.FS, error) { return fs.Sub(config, k.folder) }
