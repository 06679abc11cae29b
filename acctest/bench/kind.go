package main

import (
	"io/fs"
	"slices"
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

// lateHosts are hosts whose first boots take random times.
var lateHosts = func() kind {
	k := hosts
	k.many = "hosts with first boots that differ"
	return k
}()

// boots is what the first boots of the hosts took, from the shortest on.
func (w *workspace) boots() (drawn []time.Duration) {
	for _, m := range w.maas.Machines() {
		if m.FirstBoot > 0 {
			drawn = append(drawn, time.Duration(m.FirstBoot*float64(time.Second)))
		}
	}
	slices.Sort(drawn)
	return drawn
}

// drawnTimes is what MAAS needs for hosts with these first boots, and for the one in the
// middle. Each takes the rest of its time besides. No order of so many at once is shorter
// than the longest of them, or than all of them evenly spread.
func drawnTimes(boots []time.Duration, parallelism int, rest time.Duration) (all, one time.Duration) {
	if len(boots) == 0 {
		return 0, 0
	}
	for _, b := range boots {
		all += b + rest
	}
	all /= time.Duration(parallelism)
	return max(all, boots[len(boots)-1]+rest), boots[len(boots)/2] + rest
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
