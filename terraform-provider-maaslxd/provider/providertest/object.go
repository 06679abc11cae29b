// Package providertest asks a resource over Terraform's protocol, as a CLI does,
// but without a CLI and without a MAAS. Only tests use it.
package providertest

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Object is a resource, or an object in it, as Terraform's JSON has it.
type Object map[string]any

// With returns a copy with some attributes changed; nil takes one away.
func (o Object) With(changes Object) Object {
	out := maps.Clone(o)
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

// Dynamic is the object as the protocol carries it.
func (o Object) Dynamic(t *testing.T) *tfprotov6.DynamicValue {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return &tfprotov6.DynamicValue{JSON: raw}
}

// computed are the attributes that Terraform takes over from the state where
// the configuration has none, on whatever level they stand.
var computed = []string{
	"id", "vm_host", "strategy", "vm_host_id", "vm_host_name", "cores", "memory_mib", "hugepages", "disks", "zone", "pool", "domain",
	"fqdn", "status", "ip_addresses", "mac_address", "image", "ephemeral", "interfaces", "kernel",
	// of VM hosts
	"system_id", "adopt", "lxd_address", "adopt_existing_vms", "cpu_overcommit", "memory_overcommit", "default_storage_pool", "force_destroy",
	"on_create_failure", "hostname", "lxd_version", "storage_pools", "certificate_fingerprint", "trusted_fingerprints", "erase",
	// of machines
	"architecture", "status_message",
}

// proposed is what Terraform proposes to a provider: the configuration, and
// the state where it is computed and not configured.
func proposed(config, prior Object) Object {
	out := maps.Clone(config)
	for _, name := range computed {
		if config[name] == nil && prior[name] != nil {
			out[name] = prior[name]
		}
	}
	for name, v := range config {
		if name == "lxd" {
			continue // nothing in it is computed
		}
		inner, ok := v.(Object)
		had, hadOK := prior[name].(Object)
		if ok && hadOK {
			out[name] = proposed(inner, had)
		}
	}
	return out
}
