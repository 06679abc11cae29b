package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/machine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/vm"
)

// removal is what becomes of an optional attribute whose line is removed, as docs/reference/plan-rules.md
// says under "A line that is removed".
type removal string

const (
	// removalKept: the object and the state keep the value of the line.
	removalKept removal = "kept"
	// removalForgotten: the line told the provider what to do. Nothing is done to the object.
	// The state is null, or has the default.
	removalForgotten removal = "forgotten"
	// removalTakesAway: an update in place removes what the line has put on the object.
	removalTakesAway removal = "taken away"
	// removalKeepsElement: the line is in an element of a map or a list, which is described as
	// a whole. The element means the same without it, so only the state changes.
	removalKeepsElement removal = "the same element"
	// removalReplaces: without the line the object is replaced.
	removalReplaces removal = "replaces"
	// removalRefused: the configuration is invalid without the line.
	removalRefused removal = "refused"
)

// removedLines are all optional attributes, with "*" for the elements of a map or a list.
// Those in one text have the same outcome.
var removedLines = map[string]map[removal]string{
	"maaslxd_vm": {
		removalKept: `cores memory_mib hugepages profile disks disks.*.pool zone pool domain description interfaces interfaces.*.mac_address
			deploy.image deploy.kernel deploy.ephemeral deploy.user_data_wo`,
		removalKeepsElement: `interfaces.*.mode interfaces.*.addresses interfaces.*.addresses.*.mode interfaces.*.bridge`,
		removalForgotten: `pinned_cores placement.zone placement.pool placement.tags placement.group placement.strategy redeploy_triggers power_state
			allow_stopping_for_update deploy.user_data_wo_version timeouts timeouts.create timeouts.read timeouts.update timeouts.delete`,
		removalTakesAway: `tags annotations config devices devices.*.properties deletion_protection`,
		removalReplaces:  `deploy interfaces.*.subnet interfaces.*.vlan interfaces.*.fabric interfaces.*.space interfaces.*.ip interfaces.*.addresses.*.ip`,
		removalRefused:   `vm_host placement`,
	},
	"maaslxd_vm_host": {
		removalKept: `adopt server_fingerprint zone pool cpu_overcommit memory_overcommit default_storage_pool
			bridge bridge.name bridge.nic bridge.subnet network network.bonds network.vlans
			lxd lxd.channel lxd.project lxd.project_features lxd.project_limits lxd.listen_address lxd.listen_port lxd.trusted_certificates
			lxd.profile lxd.profile.name lxd.profile.pool lxd.profile.network lxd.profile.config
			deploy.image deploy.kernel deploy.user_data_wo deploy.storage_layout deploy.storage_layout.root_disk deploy.storage_layout.root_size_gb
			deploy.storage_layout.volume_size_gb deploy.storage_layout.cache_mode`,
		removalForgotten: `deploy deploy.user_data_wo_version adopt_existing_vms force_destroy on_create_failure release release.erase
			selector.zone selector.pool selector.tags selector.architecture selector.min_cores selector.min_memory_mib selector.min_disk_gb
			timeouts timeouts.create timeouts.read timeouts.update timeouts.delete`,
		removalTakesAway: `tags`,
		removalReplaces: `network.bonds.*.lacp_rate network.bonds.*.xmit_hash_policy network.bonds.*.mtu network.bonds.*.links
			network.bonds.*.links.*.default_gateway network.vlans.*.mtu network.vlans.*.links network.vlans.*.links.*.default_gateway
			network.bridges.*.mtu network.bridges.*.links network.bridges.*.links.*.default_gateway
			lxd.storage_pools.*.driver lxd.storage_pools.*.size_gb lxd.storage_pools.*.wipe lxd.storage_pools.*.ceph.user
			lxd.networks.*.ipv6_address lxd.networks.*.nat`,
		removalRefused: `machine selector address network.bridges network.bonds.*.mode lxd.storage_pools lxd.storage_pools.*.source lxd.storage_pools.*.ceph
			lxd.networks lxd.networks.*.kind lxd.networks.*.parent lxd.networks.*.ipv4_address
			network.bonds.*.links.*.subnet network.bonds.*.links.*.ip network.vlans.*.links.*.subnet network.vlans.*.links.*.ip
			network.bridges.*.links.*.subnet network.bridges.*.links.*.ip`,
	},
	"maaslxd_machine": {
		removalKeepsElement: `interfaces.*.subnet interfaces.*.nic`,
		removalKept: `interfaces hostname domain zone pool description
			deploy.image deploy.kernel deploy.ephemeral deploy.enable_hw_sync deploy.user_data_wo deploy.storage_layout deploy.storage_layout.root_disk
			deploy.storage_layout.root_size_gb deploy.storage_layout.volume_size_gb deploy.storage_layout.cache_mode`,
		removalForgotten: `deploy deploy.user_data_wo_version release release.erase
			selector.zone selector.pool selector.tags selector.architecture selector.min_cores selector.min_memory_mib selector.min_disk_gb
			timeouts timeouts.create timeouts.read timeouts.update timeouts.delete`,
		removalTakesAway: `tags annotations deletion_protection`,
		removalRefused:   `machine selector`,
	},
}

type object = providertest.Object

var (
	timeoutsOfAll = object{"create": "1h", "read": "1h", "update": "1h", "delete": "1h"}
	selectorOfAll = object{"zone": "az1", "pool": "metal", "tags": []any{"a"}, "architecture": "amd64", "min_cores": 2, "min_memory_mib": 2048, "min_disk_gb": 20}
	layoutOfLVM   = object{"type": "lvm", "root_disk": "sda", "root_size_gb": 50, "volume_size_gb": 20}
	layoutOfCache = object{"type": "bcache", "cache_mode": "writeback"}
)

// linksOfInterface are the links of an interface. A machine has one default gateway.
func linksOfInterface(of int, isGateway any) []any {
	return []any{object{"mode": "static", "subnet": fmt.Sprintf("fd0%d::/64", of), "ip": fmt.Sprintf("fd0%d::9", of), "default_gateway": isGateway}}
}

// networkWith has the default gateway on its bond, its VLAN interface or its bridge.
func networkWith(onBond, onVLAN, onBridge any) object {
	return object{
		"bonds": object{"bond0": object{
			"interfaces": []any{"eth0", "eth1"}, "mode": "802.3ad", "lacp_rate": "slow", "xmit_hash_policy": "layer3+4", "mtu": 9000, "links": linksOfInterface(0, onBond),
		}},
		"vlans":   object{"bond0.100": object{"parent": "bond0", "vlan": 100, "mtu": 1500, "links": linksOfInterface(1, onVLAN)}},
		"bridges": object{"br0": object{"parent": "eth2", "mtu": 1500, "links": linksOfInterface(2, onBridge)}},
	}
}

// trustedCertificate is a certificate for a host to trust.
var trustedCertificate = sync.OnceValue(func() string {
	key, err := fleetkey.New(time.Now())
	if err != nil {
		panic(err)
	}
	return key.Certificate
})

// wholeConfigurations together have every optional attribute. Attributes that exclude each
// other are in different ones.
var wholeConfigurations = map[string][]object{
	"maaslxd_vm": {
		{"name": "web-1", "vm_host": "lxd1", "deploy": object{}},
		{
			"name": "web-1", "vm_host": "lxd1", "cores": 2, "memory_mib": 4096, "hugepages": true, "profile": "fast", "zone": "az2", "pool": "prod",
			"domain": "example.com", "description": "of a team", "tags": []any{"a"}, "config": object{"user.a": "b"}, "annotations": object{"a": "b"},
			"devices": object{"gpu0": object{"type": "gpu", "properties": object{"pci": "0000:01:00.0"}}},
			"disks":   object{"root": object{"size_gb": 20, "pool": "fast"}},
			"interfaces": object{"eth0": object{
				"subnet": "fd00::/64", "vlan": 10, "fabric": "f", "space": "s", "mode": "static", "ip": "fd00::9", "bridge": "br1", "mac_address": "00:16:3e:00:00:01",
				"addresses": []any{object{"subnet": "fd01::/64", "ip": "fd01::9", "mode": "static"}},
			}},
			"deploy":            object{"image": "ubuntu/noble", "kernel": "ga-24.04", "user_data_wo": "#cloud-config\n", "user_data_wo_version": 1},
			"redeploy_triggers": object{"version": "1"}, "power_state": "running", "allow_stopping_for_update": true, "timeouts": timeoutsOfAll,
		},
		{"name": "web-1", "vm_host": "lxd1", "pinned_cores": []any{0, 1}, "deploy": object{"ephemeral": true}, "deletion_protection": true},
		{"name": "web-1", "placement": object{"zone": "az1", "pool": "metal", "tags": []any{"a"}, "group": "web", "strategy": "pack"}},
	},
	"maaslxd_vm_host": {
		{"name": "kvm1", "machine": "node1", "lxd": object{
			"storage_pools": object{"big": object{"driver": "btrfs", "size_gb": 20}},
			"networks":      object{"lxdbr0": object{"kind": "managed", "ipv4_address": "10.10.0.1/24", "ipv6_address": "fd42::1/64", "nat": true}},
			"profile":       object{"name": "large", "pool": "big", "network": "lxdbr0", "config": object{"limits.cpu": "2"}},
		}},
		{
			"name": "kvm1", "machine": "node1", "server_fingerprint": strings.Repeat("ab", 32), "zone": "az1", "pool": "metal", "tags": []any{"a"}, "cpu_overcommit": 2.5,
			"memory_overcommit": 1.5, "default_storage_pool": "big", "adopt_existing_vms": true, "force_destroy": true, "on_create_failure": "release",
			"release": object{"erase": "quick"}, "timeouts": timeoutsOfAll, "bridge": object{"name": "br1", "nic": "eth0", "subnet": "fd00::/64"},
			"deploy": object{"image": "ubuntu/noble", "kernel": "ga-24.04", "user_data_wo": "#cloud-config\n", "user_data_wo_version": 1, "storage_layout": layoutOfLVM},
			"lxd": object{
				"channel": "5.21/edge", "project": "vms", "project_features": object{"images": false}, "project_limits": object{"cpu": "4"},
				"listen_address": "fd00::9", "listen_port": 8444, "trusted_certificates": []any{trustedCertificate()},
				"storage_pools": object{
					"big": object{"driver": "btrfs", "source": "/dev/sdb", "wipe": true}, "file": object{"driver": "btrfs", "size_gb": 20},
					"remote": object{"driver": "ceph", "ceph": object{"cluster": "ceph", "pool": "osd", "user": "lxd"}},
				},
				"networks": object{
					"lxdbr0": object{"kind": "managed", "ipv4_address": "10.10.0.1/24", "ipv6_address": "fd42::1/64", "nat": true},
					"mac0":   object{"kind": "macvlan", "parent": "eth1"},
				},
				"profile": object{"name": "large", "pool": "big", "network": "lxdbr0", "config": object{"limits.cpu": "2"}},
			},
		},
		{"name": "kvm1", "machine": "node1", "network": networkWith(true, nil, nil), "deploy": object{"storage_layout": layoutOfCache}},
		{"name": "kvm1", "machine": "node1", "network": networkWith(nil, true, nil)},
		{"name": "kvm1", "machine": "node1", "network": networkWith(nil, nil, true)},
		{"name": "kvm1", "machine": "node1", "adopt": true},
		{"name": "kvm1", "selector": selectorOfAll},
		{"name": "kvm1", "address": "10.0.0.5"},
	},
	"maaslxd_machine": {
		{
			"name": "db-1", "machine": "node1", "hostname": "db", "domain": "example.com", "zone": "az2", "pool": "metal", "description": "of a team",
			"tags": []any{"a"}, "annotations": object{"a": "b"}, "release": object{"erase": "quick"}, "timeouts": timeoutsOfAll,
			"interfaces": object{"eth0": object{"ip": "fd00::9", "subnet": "fd00::/64", "nic": "eth0"}},
			"deploy": object{
				"image": "ubuntu/noble", "kernel": "ga-24.04", "enable_hw_sync": true, "user_data_wo": "#cloud-config\n",
				"user_data_wo_version": 1, "storage_layout": layoutOfLVM,
			},
		},
		{"name": "db-1", "machine": "node1", "deploy": object{"ephemeral": true}},
		{"name": "db-1", "machine": "node1", "deploy": object{"storage_layout": layoutOfCache}},
		{"name": "db-1", "machine": "node1", "deletion_protection": true},
		{"name": "db-1", "selector": selectorOfAll},
	},
}

// notesOfFinished are the notes of an object after a complete apply.
func notesOfFinished(name string, config object) map[string]any {
	switch isProtected := config["deletion_protection"]; name {
	case "maaslxd_vm":
		return map[string]any{"vm": object{"key": "default/web-1", "protection_applied": isProtected}}
	case "maaslxd_vm_host":
		return map[string]any{"vm_host": object{"key": "default/vm-hosts/kvm1", "image": "ubuntu/noble", "kernel": "ga-24.04"}}
	default:
		return map[string]any{"machine": object{
			"key": "default/machines/db-1", "image": "ubuntu/noble", "kernel": "ga-24.04", "ephemeral": true, "enable_hw_sync": true, "protection_applied": isProtected,
		}}
	}
}

var resourcesWithRules = map[string]func() resource.Resource{
	"maaslxd_vm": vm.NewResource, "maaslxd_vm_host": host.NewResource, "maaslxd_machine": machine.NewResource,
}

// TestRemovedLines removes the line of each optional attribute that an apply has set. The
// attributes come from the schemas: a new one needs a row, and a place in a configuration.
func TestRemovedLines(t *testing.T) {
	t.Parallel()
	for name, constructor := range resourcesWithRules {
		rows := map[string]removal{}
		for is, attributes := range removedLines[name] {
			for _, at := range strings.Fields(attributes) {
				rows[at] = is
			}
		}
		served := providertest.ServeResource(t, constructor)
		optional := optionalPaths("", served.Schema.Attributes)
		if diff := cmp.Diff(optional, slices.Sorted(maps.Keys(rows))); diff != "" {
			t.Errorf("optional attributes of %s (-schema +rows):\n%s\nSay in docs/reference/plan-rules.md and here what becomes of a new one whose line is removed.", name, diff)
		}
		var states []object
		for _, config := range wholeConfigurations[name] {
			states = append(states, stateOf(t, served, config))
		}
		for _, at := range optional {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				removeLine(t, served.ForTest(t), states, at, rows[at])
			})
		}
	}
}

// stateOf is the state after an apply of a configuration. A plan of that configuration is then
// empty.
func stateOf(t *testing.T, served *providertest.Resource, config object) object {
	t.Helper()
	if problems := errorsOf(served.Validate(config)); len(problems) > 0 {
		t.Fatalf("a whole configuration is invalid: %q", problems)
	}
	state := served.Plan(config, nil, nil).AppliedState(object{"id": "abc123", "status": "Deployed"})
	if again := served.Plan(config, state, notesOfFinished(served.Name, config)); len(again.ChangedAttributes(state)) > 0 {
		t.Fatalf("the same configuration changes %v", again.ChangedAttributes(state))
	}
	return state
}

// removeLine removes an attribute that an apply has set, and compares the plan with the rule.
// The states are those of the whole configurations.
func removeLine(t *testing.T, served *providertest.Resource, states []object, at string, want removal) {
	t.Helper()
	n, without := configurationWith(t, served.Name, at)
	problems := errorsOf(served.Validate(without))
	if (want == removalRefused) != (len(problems) > 0) {
		t.Errorf("want %s, but without the line the validation says %q", want, problems)
	}
	if want == removalRefused {
		return
	}
	state := states[n]
	plan := served.Plan(without, state, notesOfFinished(served.Name, wholeConfigurations[served.Name][n]))
	root, _, _ := strings.Cut(at, ".")
	var changes, replaced []string
	switch want {
	case removalForgotten, removalTakesAway, removalKeepsElement:
		changes = []string{root}
	case removalReplaces:
		changes, replaced = []string{root}, []string{root}
	}
	if problems := errorsOf(plan.Diagnostics); len(problems) > 0 {
		t.Errorf("the plan is an error: %s", problems)
	}
	if diff := cmp.Diff(changes, plan.ChangedAttributes(state)); diff != "" {
		t.Errorf("want %s, changed are (-want +got):\n%s", want, diff)
	}
	if diff := cmp.Diff(replaced, plan.ReplacingAttributes()); diff != "" {
		t.Errorf("want %s, replaced by (-want +got):\n%s", want, diff)
	}
	planned := valueAt(plan.AppliedState(nil), without, strings.Split(at, "."))
	switch got := fmt.Sprint(planned); {
	case want == removalKept && planned == nil && !strings.HasSuffix(at, "_wo"):
		t.Error("want the value kept, but nothing is planned")
	case (want == removalTakesAway || want == removalKeepsElement) && planned != nil, want == removalForgotten && planned != nil && got != defaultsOfForgotten[at]:
		t.Errorf("want %s, planned is %s", want, got)
	}
}

// defaultsOfForgotten are the attributes that return to their default in the state.
var defaultsOfForgotten = map[string]string{
	"adopt_existing_vms": "false", "force_destroy": "false", "on_create_failure": "keep", "placement.strategy": "spread", "release.erase": "none",
}

// valueAt is the value at a path; "*" is the first element without the attribute in the
// configuration.
func valueAt(v, without any, steps []string) any {
	if len(steps) == 0 || v == nil {
		return v
	}
	switch v := v.(type) {
	case object:
		config, _ := without.(object)
		keys := []string{steps[0]}
		if steps[0] == "*" {
			keys = slices.Sorted(maps.Keys(config))
		}
		for _, key := range keys {
			if inner, _ := config[key].(object); len(steps) < 2 || steps[0] != "*" || inner[steps[1]] == nil {
				return valueAt(v[key], config[key], steps[1:])
			}
		}
	case []any:
		config, _ := without.([]any)
		return valueAt(v[0], config[0], steps[1:])
	}
	return nil
}

func errorsOf(diags []*tfprotov6.Diagnostic) []string {
	var texts []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			texts = append(texts, d.Summary+": "+d.Detail)
		}
	}
	return texts
}

// configurationWith is the number of the first whole configuration with the attribute, and the
// same without it.
func configurationWith(t *testing.T, name, at string) (n int, without object) {
	t.Helper()
	for n, config := range wholeConfigurations[name] {
		if rest, found := withoutAttribute(config, strings.Split(at, ".")); found {
			return n, rest.(object)
		}
	}
	t.Fatalf("no configuration has %s", at)
	return 0, nil
}

// withoutAttribute removes the value at a path; "*" is the first element that has it.
func withoutAttribute(v any, steps []string) (rest any, found bool) {
	switch v := v.(type) {
	case object:
		keys := []string{steps[0]}
		if steps[0] == "*" {
			keys = slices.Sorted(maps.Keys(v))
		}
		for _, key := range keys {
			if v[key] != nil && len(steps) == 1 {
				return v.WithChanges(object{key: nil}), true
			}
			if len(steps) > 1 {
				if inner, found := withoutAttribute(v[key], steps[1:]); found {
					return v.WithChanges(object{key: inner}), true
				}
			}
		}
	case []any:
		for n := range v {
			if inner, found := withoutAttribute(v[n], steps[1:]); found {
				all := slices.Clone(v)
				all[n] = inner
				return all, true
			}
		}
	}
	return v, false
}

// optionalPaths lists the optional attributes of a schema, also nested ones.
func optionalPaths(at string, attributes map[string]schema.Attribute) []string {
	var paths []string
	for name, a := range attributes {
		if a.IsOptional() {
			paths = append(paths, at+name)
		}
		switch a := a.(type) {
		case schema.SingleNestedAttribute:
			paths = append(paths, optionalPaths(at+name+".", a.Attributes)...)
		case schema.MapNestedAttribute:
			paths = append(paths, optionalPaths(at+name+".*.", a.NestedObject.Attributes)...)
		case schema.ListNestedAttribute:
			paths = append(paths, optionalPaths(at+name+".*.", a.NestedObject.Attributes)...)
		}
	}
	slices.Sort(paths)
	return paths
}
