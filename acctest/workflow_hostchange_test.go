package acctest_test

import (
	"strings"
	"testing"
)

// TestAccWorkflowHostAttributes changes one attribute of a VM host after the
// other, and back. The apply does what the plan says, and a second plan is
// empty. The machine is installed again only where the plan replaces the host.
func TestAccWorkflowHostAttributes(t *testing.T) {
	t.Parallel()
	const made, keeps, same = "delete,create", "update", "no-op"
	const twoPools = `lxd = { storage_pools = { default = { driver = "dir" }, quick = { driver = "dir" } } }`
	cases := map[string]struct {
		from, to    string
		there, back string
	}{
		"Name":            {`name = "kvm1"`, `name = "kvm2"`, keeps, keeps},
		"Zone":            {`zone = "az1"`, `zone = "az2"`, keeps, keeps},
		"Pool":            {`pool = "default"`, `pool = "kvm"`, keeps, keeps},
		"Tags":            {`tags = ["a", "b"]`, `tags = ["b", "c"]`, keeps, keeps},
		"Cores":           {`cpu_overcommit = 1`, `cpu_overcommit = 2.5`, keeps, keeps},
		"Memory":          {`memory_overcommit = 1`, `memory_overcommit = 2`, keeps, keeps},
		"DefaultPool":     {twoPools + "\n" + `default_storage_pool = "default"`, twoPools + "\n" + `default_storage_pool = "quick"`, keeps, keeps},
		"ForceDestroy":    {``, `force_destroy = true`, keeps, keeps},
		"Release":         {``, `release = { erase = "quick" }`, keeps, keeps},
		"Timeouts":        {`timeouts = { create = "10m" }`, `timeouts = { create = "20m" }`, keeps, keeps},
		"OnCreateFailure": {``, `on_create_failure = "release"`, keeps, keeps},
		"Machine":         {`machine = "node1"`, `machine = "node2"`, made, made},
		"MachineByFQDN":   {`machine = "node1"`, `machine = "node1.maas"`, keeps, keeps},
		"Image":           {`deploy = { image = "ubuntu/noble" }`, `deploy = { image = "ubuntu/jammy" }`, made, made},
		"Kernel":          {`deploy = { image = "ubuntu/noble", kernel = "ga-24.04" }`, `deploy = { image = "ubuntu/noble", kernel = "hwe-24.04" }`, made, made},
		"Project":         {`lxd = { project = "maas" }`, `lxd = { project = "vms" }`, made, made},
		"PoolDriver":      {`lxd = { storage_pools = { default = { driver = "dir" } } }`, `lxd = { storage_pools = { default = { driver = "btrfs" } } }`, made, made},
		"DefaultsWritten": {``, `lxd = { project = "maas", listen_port = 8443 }`, keeps, same}, // removing a line changes nothing
		"RecordRemoved":   {"zone = \"az2\"\ncpu_overcommit = 2", ``, same, same},              // a change of one of these lines would show
		"KernelRemoved":   {`deploy = { image = "ubuntu/noble", kernel = "ga-24.04" }`, `deploy = { image = "ubuntu/noble" }`, same, same},
		"KernelNamed":     {`deploy = { image = "ubuntu/noble" }`, `deploy = { image = "ubuntu/noble", kernel = "ga-24.04" }`, same, same},
		"ImageRemoved":    {`deploy = { image = "ubuntu/noble" }`, `deploy = {}`, same, same},
		"ImageNamed":      {`deploy = {}`, `deploy = { image = "ubuntu/noble" }`, made, same},
		"TagsRemoved":     {`tags = ["a"]`, ``, keeps, keeps},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			config := func(lines string) string {
				body := "resource \"maaslxd_vm_host\" \"test\" {\n"
				for attribute, value := range map[string]string{"name": `"kvm1"`, "machine": `"node1"`, "deploy": `{ image = "ubuntu/noble" }`} {
					if !strings.HasPrefix(lines, attribute+" =") {
						body += "  " + attribute + " = " + value + "\n"
					}
				}
				return x.config(body + "  " + lines + "\n}\n")
			}
			installed := func() (int, bool) { return x.countCalls(t, deployRoute) }
			w := newWorkspace(t, config(tc.from))
			w.run(t, "apply", "-auto-approve", "-no-color")
			for _, step := range []struct{ lines, want string }{{tc.to, tc.there}, {tc.from, tc.back}} {
				before, _ := installed()
				w.configure(t, config(step.lines))
				if got := joinActions(w.planActionsOn(t, hostAddress)); got != step.want {
					t.Errorf("to %q: the plan wants %s, not %s", step.lines, got, step.want)
				}
				w.run(t, "apply", "-no-color", "actions")
				w.run(t, "plan", "-detailed-exitcode", "-no-color")
				if after, counted := installed(); counted && (after > before) != (step.want == made) {
					t.Errorf("to %q: the plan said %s, and the machine is installed anew: %v", step.lines, step.want, after > before)
				}
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1", "node2")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
