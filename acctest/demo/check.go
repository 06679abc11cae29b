package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// host is one entry of the output "fleet".
type host struct {
	Zone      string   `json:"zone"`
	Cores     amount   `json:"cores"`
	MemoryMiB amount   `json:"memory_mib"`
	VMs       []string `json:"vms"`
}

// amount is how much of a resource a host has, and how much VMs use.
type amount struct {
	Used  int64 `json:"used"`
	Total int64 `json:"total"`
}

// The size of the demo's fleet.
const (
	wantHosts = 3
	wantVMs   = 6
	wantZones = 2
)

// checkFleet checks that the hosts are in their zones and that each VM is on
// one of them. No host may be empty. The VMs must be spread evenly over the
// zones, and then over the hosts.
func checkFleet(fleet map[string]host) error {
	zones, seen := map[string]int{}, map[string]string{}
	for name, h := range fleet {
		if h.Cores.Used <= 0 || h.MemoryMiB.Used <= 0 || h.Cores.Used > h.Cores.Total || h.MemoryMiB.Used > h.MemoryMiB.Total {
			return fmt.Errorf("%s has %d of %d cores and %d of %d MiB in use; want some of both, and no more than there are",
				name, h.Cores.Used, h.Cores.Total, h.MemoryMiB.Used, h.MemoryMiB.Total)
		}
		for _, vm := range h.VMs {
			if other, twice := seen[vm]; twice {
				return fmt.Errorf("%s is on %s and on %s, want it once", vm, other, name)
			}
			seen[vm] = name
		}
		zones[h.Zone] += len(h.VMs)
	}
	if len(fleet) != wantHosts || len(zones) != wantZones || len(seen) != wantVMs {
		return fmt.Errorf("there are %d hosts in %d zones with %d VMs; want %d in %d with %d",
			len(fleet), len(zones), len(seen), wantHosts, wantZones, wantVMs)
	}
	for zone, n := range zones {
		if n != wantVMs/wantZones {
			return fmt.Errorf("zone %s has %d VMs, want %d in each", zone, n, wantVMs/wantZones)
		}
	}
	return nil
}

// checkAddresses checks that each VM has an address.
func checkAddresses(addresses map[string][]string) error {
	for _, vm := range slices.Sorted(maps.Keys(addresses)) {
		if len(addresses[vm]) == 0 {
			return fmt.Errorf("%s has no address", vm)
		}
	}
	if len(addresses) != wantVMs {
		return fmt.Errorf("%d VMs tell their addresses, want %d", len(addresses), wantVMs)
	}
	return nil
}

// checkInPlace checks that a plan updates the resource at the address and does
// nothing to any other. Data sources may be read again.
func checkInPlace(text []byte, address string) error {
	var plan struct {
		Changes []struct {
			Address string
			Mode    string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(text, &plan); err != nil {
		return fmt.Errorf("cannot read the plan: %w", err)
	}
	updated := false
	for _, c := range plan.Changes {
		switch {
		case c.Mode == "data" || slices.Equal(c.Change.Actions, []string{"no-op"}):
		case c.Address == address && slices.Equal(c.Change.Actions, []string{"update"}):
			updated = true
		default:
			return fmt.Errorf("the plan does %q to %s, want nothing but an update of %s in place", c.Change.Actions, c.Address, address)
		}
	}
	if !updated {
		return fmt.Errorf("the plan does not update %s", address)
	}
	return nil
}

// checkRunning checks that all VMs are in the LXDs, run, and are known to MAAS.
func checkRunning(instances []instance) error {
	for _, i := range instances {
		if !i.Running || i.MachineID == "" {
			return fmt.Errorf("%s on %s is off, or not known to MAAS; want it running and known", i.Name, i.Host)
		}
	}
	if len(instances) != wantVMs {
		return fmt.Errorf("the LXDs have %d VMs, want %d", len(instances), wantVMs)
	}
	return nil
}

// checkKept checks that the LXDs still have the same VMs, and that they run. A
// host that was deployed anew would have lost its VMs.
func checkKept(before, after []instance) error {
	for _, i := range after {
		if !slices.Contains(before, i) {
			return fmt.Errorf("%s on %s is not the VM that was there before the change", i.Name, i.Host)
		}
	}
	return checkRunning(after)
}

// checkBare checks that all machines are Ready and have no owner, no VM, no VM
// host and no mark of ours.
func checkBare(machines []machine) error {
	for _, m := range machines {
		if m.VMHost != "" {
			return fmt.Errorf("MAAS still knows %s, a VM on %s", m.Name, m.VMHost)
		}
		if m.Hosted != "" {
			return fmt.Errorf("MAAS still knows the VM host %s on %s", m.Hosted, m.Name)
		}
		if m.Status != "Ready" || m.Owner != "" {
			return fmt.Errorf("machine %s is %s of %q; want it Ready and nobody's", m.Name, m.Status, m.Owner)
		}
		for key := range m.OwnerData {
			if strings.HasPrefix(key, "maaslxd") {
				return fmt.Errorf("machine %s still carries our mark %s", m.Name, key)
			}
		}
	}
	if len(machines) != wantHosts {
		return fmt.Errorf("MAAS knows %d machines, want %d", len(machines), wantHosts)
	}
	return nil
}

// errCallsMissing says that the work was done without MAAS or LXD, which cannot
// be.
var errCallsMissing = errors.New("the simulator's journal lacks calls of MAAS or of the LXDs, want both of this run")
