package acctest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// incumbentAddresses are the addresses of the providers from which users move
// states, by the file names of their stand-ins.
var incumbentAddresses = map[string]string{"terraform-provider-maas": "canonical/maas", "terraform-provider-lxd": "terraform-lxd/lxd"}

// incumbentBinaries builds the stand-ins once for all tests.
var incumbentBinaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "maaslxd-incumbents-")
	if err != nil {
		return "", err
	}
	for name := range incumbentAddresses {
		build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, name), modulePath+"/acctest/incumbents")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot build the stand-in for %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

// newIncumbentWorkspace is a workspace in which the CLI also finds the
// stand-ins.
func newIncumbentWorkspace(t *testing.T) workspace {
	t.Helper()
	ours, err := providerBinary()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := incumbentBinaries()
	if err != nil {
		t.Fatal(err)
	}
	w := newEmptyWorkspace(t)
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n", cli.ProviderSource, ours)
	for _, source := range slices.Sorted(maps.Values(incumbentAddresses)) {
		text += fmt.Sprintf("    %q = %q\n", source, theirs)
	}
	w.writeFile(t, "cli.tfrc", text+"  }\n  direct {}\n}\n")
	return w
}

// configureWithIncumbents writes a configuration that also requires the
// incumbents' providers.
func (w workspace) configureWithIncumbents(t *testing.T, config string) {
	t.Helper()
	w.writeFile(t, "main.tf", fmt.Sprintf(`terraform {
  required_providers {
    maaslxd = { source = %q }
    maas    = { source = "canonical/maas" }
    lxd     = { source = "terraform-lxd/lxd" }
  }
}
%s`, cli.ProviderSource, config))
}

// incumbent is a VM in an incumbent's state.
type incumbent struct {
	kind       string // for example "maas_instance"
	label      string
	attributes map[string]any
}

// incumbentState is a state file with the incumbents' VMs, one for each label
// of a kind.
func incumbentState(t *testing.T, vms ...incumbent) string {
	t.Helper()
	type instance map[string]any
	var resources []map[string]any
	for _, vm := range vms {
		source := incumbentAddresses["terraform-provider-maas"]
		if strings.HasPrefix(vm.kind, "lxd_") {
			source = incumbentAddresses["terraform-provider-lxd"]
		}
		one := instance{"index_key": vm.label, "schema_version": 0, "attributes": vm.attributes, "sensitive_attributes": []any{}, "private": "bnVsbA=="}
		i := slices.IndexFunc(resources, func(r map[string]any) bool { return r["type"] == vm.kind })
		if i < 0 {
			resources = append(resources, map[string]any{
				"mode": "managed", "type": vm.kind, "name": "vm", "instances": []instance{one},
				"provider": fmt.Sprintf("provider[%q]", "registry.terraform.io/"+source),
			})
			continue
		}
		resources[i]["instances"] = append(resources[i]["instances"].([]instance), one)
	}
	raw, err := json.Marshal(map[string]any{
		"version": 4, "terraform_version": "1.11.4", "serial": 7, "lineage": "6a1f3c9e-0000-4000-8000-00000000beef",
		"outputs": map[string]any{}, "resources": resources, "check_results": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// machineRecord is what an incumbent stores of MAAS's record of a machine.
type machineRecord struct {
	SystemID  string                `json:"system_id"`
	Hostname  string                `json:"hostname"`
	FQDN      string                `json:"fqdn"`
	Cores     int                   `json:"cpu_count"`
	Memory    int                   `json:"memory"`
	VMHost    struct{ Name string } `json:"pod"`
	Interface []struct {
		MAC string `json:"mac_address"`
	} `json:"interface_set"`
}

// incumbentAttributes are the attributes that an incumbent's resource stores of
// a VM.
func (m machineRecord) incumbentAttributes(kind string) map[string]any {
	switch kind {
	case "maas_vm_host_machine":
		return map[string]any{
			"id": m.SystemID, "hostname": m.Hostname, "domain": "maas", "zone": "default", "pool": "default", "vm_host": m.VMHost.Name,
			"cores": m.Cores, "memory": m.Memory, "pinned_cores": nil, "network_interfaces": []any{}, "storage_disks": []any{}, "timeouts": nil,
		}
	case "maas_instance":
		return map[string]any{
			"id": m.SystemID, "hostname": m.Hostname, "fqdn": m.FQDN, "zone": "default", "pool": "default", "tags": []any{"virtual"},
			"cpu_count": m.Cores, "memory": m.Memory, "ip_addresses": []any{}, "network_interfaces": []any{}, "timeouts": nil,
			"allocate_params": []any{map[string]any{"hostname": m.Hostname, "min_cpu_count": 0, "min_memory": 0, "pool": "", "tags": []any{}, "zone": "", "system_id": m.SystemID}},
			"deploy_params":   []any{map[string]any{"distro_series": "noble", "enable_hw_sync": false, "hwe_kernel": "", "user_data": "", "ephemeral": false}},
		}
	default:
		return map[string]any{
			"name": m.Hostname, "type": "virtual-machine", "description": "", "image": nil, "ephemeral": false, "running": true, "wait_for_network": true,
			"profiles": []any{"default"}, "device": []any{}, "file": []any{}, "execs": nil, "limits": map[string]any{}, "config": map[string]any{},
			"project": nil, "remote": m.VMHost.Name, "target": nil, "ipv4_address": nil, "ipv6_address": nil, "mac_address": m.Interface[0].MAC,
			"location": "none", "status": "Running", "timeouts": nil,
		}
	}
}

// machineRecords are MAAS's records of all machines by hostname.
func (x *target) machineRecords(t *testing.T) map[string]machineRecord {
	t.Helper()
	var list []machineRecord
	if err := json.Unmarshal(x.callMAAS(t, "GET", "machines/", ""), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]machineRecord{}
	for _, m := range list {
		all[m.Hostname] = m
	}
	return all
}

// composeAndDeploy makes and deploys VMs, by name and host, as users of other
// providers do: MAAS composes them, or LXD makes them and MAAS enlists them.
func (x *target) composeAndDeploy(t *testing.T, hosts map[string]string) map[string]machineRecord {
	t.Helper()
	if isLXDColumn() {
		for _, name := range slices.Sorted(maps.Keys(hosts)) {
			x.enlistVM(t, hosts[name], name, 1)
		}
	} else {
		x.compose(t, hosts)
	}
	x.simulatorOrSkip().Settle()
	all := x.machineRecords(t)
	for name := range hosts {
		x.postForm(t, "machines/?op=allocate", url.Values{"system_id": {all[name].SystemID}})
		x.postForm(t, "machines/"+all[name].SystemID+"/?op=deploy", url.Values{"distro_series": {"noble"}})
	}
	x.simulatorOrSkip().Settle()
	return x.machineRecords(t)
}

// compose lets MAAS make VMs, by name and host.
func (x *target) compose(t *testing.T, hosts map[string]string) {
	t.Helper()
	var list []struct {
		ID   int
		Name string
	}
	if err := json.Unmarshal(x.callMAAS(t, "GET", "vm-hosts/", ""), &list); err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int{}
	for _, h := range list {
		numbers[h.Name] = h.ID
	}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		x.postForm(t, fmt.Sprintf("vm-hosts/%d/?op=compose", numbers[hosts[name]]), url.Values{"hostname": {name}, "cores": {"1"}, "memory": {"2048"}})
	}
}
