package main

import (
	"io/fs"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// kind is what a workload makes: VMs or hosts.
type kind struct {
	one, many   string // as the report calls it
	folder      string // below a side's configuration
	createTime  func(sim.Latency) time.Duration
	destroyTime func(sim.Latency) time.Duration
	model       func(n int, times sim.Latency) sim.Model
	variable    string // the configuration's variable for their number
	countLeft   func(*sim.Server) (have, done int)
}

// vms are VMs on VM hosts that exist already.
var vms = kind{
	one: "VM", many: "VMs", folder: ".", variable: "vms",
	createTime:  func(l sim.Latency) time.Duration { return l.Compose + l.Commission + l.Deploy },
	destroyTime: func(l sim.Latency) time.Duration { return l.Release + l.Delete },
	model:       vmModel, countLeft: countVMs,
}

// hosts are bare machines that become VM hosts.
var hosts = kind{
	one: "host", many: "hosts", folder: "hosts", variable: "hosts",
	createTime:  func(l sim.Latency) time.Duration { return l.Deploy + l.FirstBoot + l.Inventory },
	destroyTime: func(l sim.Latency) time.Duration { return l.Release },
	model:       hostModel, countLeft: countHosts,
}

// lateHosts are hosts whose first boots take random times.
var lateHosts = func() kind {
	k := hosts
	k.many = "hosts with first boots that differ"
	return k
}()

// firstBoots are the durations of the hosts' first boots, the shortest first.
func (w *workspace) firstBoots() (drawn []time.Duration) {
	for _, m := range w.maas.Machines() {
		if m.FirstBoot > 0 {
			drawn = append(drawn, time.Duration(m.FirstBoot*float64(time.Second)))
		}
	}
	slices.Sort(drawn)
	return drawn
}

// idealTimesOfBoots returns what MAAS needs for all hosts with these first
// boots, and for the median one. rest is the time that each needs besides its
// boot. No order can be faster than the longest host, or than all hosts spread
// evenly over the parallelism.
func idealTimesOfBoots(boots []time.Duration, parallelism int, rest time.Duration) (all, one time.Duration) {
	if len(boots) == 0 {
		return 0, 0
	}
	for _, b := range boots {
		all += b + rest
	}
	all /= time.Duration(parallelism)
	return max(all, boots[len(boots)-1]+rest), boots[len(boots)/2] + rest
}

// countVMs counts the VMs in the simulated LXDs, and those that MAAS has
// deployed.
func countVMs(maas *sim.Server) (have, done int) {
	for _, m := range maas.Machines() {
		if m.Host != "" && m.StatusName == "Deployed" {
			done++
		}
	}
	return len(maas.Instances()), done
}

// countHosts counts the machines that have an owner, and those that are VM
// hosts.
func countHosts(maas *sim.Server) (have, done int) {
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

// configFor is the part of a side's configuration for this kind of work.
func (k kind) configFor(config fs.FS) (fs.FS, error) { return fs.Sub(config, k.folder) }
