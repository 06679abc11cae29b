package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// vm is one entry of the output "vms".
type vm struct {
	SystemID    string           `json:"system_id"`
	Host        string           `json:"host"`
	Zone        string           `json:"zone"`
	Cores       int64            `json:"cores"`
	MemoryMiB   int64            `json:"memory_mib"`
	DisksGB     map[string]int64 `json:"disks_gb"`
	IPAddresses []string         `json:"ip_addresses"`
	Status      string           `json:"status"`
	Tags        []string         `json:"tags"`
}

// readVMs reads what "output -json vms" printed.
func readVMs(text []byte) (map[string]vm, error) {
	var vms map[string]vm
	if err := json.Unmarshal(text, &vms); err != nil {
		return nil, fmt.Errorf("cannot read the output vms: %w", err)
	}
	return vms, nil
}

// checkDeployed wants VMs, each deployed and with an address.
func checkDeployed(vms map[string]vm) error {
	if len(vms) == 0 {
		return errors.New("the apply made no VM")
	}
	for name, v := range vms {
		if v.SystemID == "" || v.Status != "Deployed" || len(v.IPAddresses) == 0 {
			return fmt.Errorf("%s is %s with system id %q and addresses %q; want it Deployed, with both",
				name, v.Status, v.SystemID, v.IPAddresses)
		}
	}
	return nil
}

// checkInPlace wants a plan that updates the VMs and does nothing else to
// any resource.
func checkInPlace(text []byte, want int) error {
	var plan struct {
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(text, &plan); err != nil {
		return fmt.Errorf("cannot read the plan: %w", err)
	}
	updates := 0
	for _, c := range plan.Changes {
		if !slices.Equal(c.Change.Actions, []string{"update"}) {
			return fmt.Errorf("the plan does %q to %s, want an update in place", c.Change.Actions, c.Address)
		}
		updates++
	}
	if updates != want {
		return fmt.Errorf("the plan updates %d VMs, want %d", updates, want)
	}
	return nil
}

// checkKept wants the same VMs as before, still deployed, with the new tag.
func checkKept(before, after map[string]vm) error {
	for name, old := range before {
		now := after[name]
		if now.SystemID != old.SystemID || now.Status != "Deployed" {
			return fmt.Errorf("%s was %s and is %s, %s, after the change; want it untouched",
				name, old.SystemID, now.SystemID, now.Status)
		}
		if !slices.Contains(now.Tags, "changed") {
			return fmt.Errorf("%s has the tags %q after the change, want %q among them", name, now.Tags, "changed")
		}
	}
	return checkDeployed(after)
}
