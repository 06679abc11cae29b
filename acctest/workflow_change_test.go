package acctest_test

import (
	"strings"
	"testing"
)

func joinActions(actions []string) string { return strings.Join(actions, ",") }

// TestAccWorkflowAttributes changes one attribute of a VM after the other, and
// back. The apply does what the plan says, and a second plan is empty.
func TestAccWorkflowAttributes(t *testing.T) {
	t.Parallel()
	made, keeps := "delete,create", "update"
	size := made
	if isLXDColumn() {
		size = keeps
	}
	cases := map[string]struct {
		from, to    string
		there, back string
	}{
		"Name":           {`name = "web"`, `name = "www"`, keeps, keeps},
		"Zone":           {`zone = "az1"`, `zone = "az2"`, keeps, keeps},
		"Pool":           {`pool = "default"`, `pool = "kvm"`, keeps, keeps},
		"Domain":         {`domain = "maas"`, `domain = "example.org"`, keeps, keeps},
		"Description":    {`description = "a"`, `description = "b"`, keeps, keeps},
		"Tags":           {`tags = ["a", "b"]`, `tags = ["b", "c"]`, keeps, keeps},
		"Host":           {`vm_host = "lxd1"`, `vm_host = "lxd2"`, made, made},
		"Cores":          {`cores = 1`, `cores = 2`, size, size},
		"Memory":         {`memory_mib = 2048`, `memory_mib = 4096`, size, size},
		"PinnedCores":    {`pinned_cores = [0]`, `pinned_cores = [0, 1]`, made, made},
		"HugePages":      {`hugepages = false`, `hugepages = true`, made, made},
		"DiskGrows":      {`disks = { root = { size_gb = 8 } }`, `disks = { root = { size_gb = 9 } }`, size, made},
		"DiskComes":      {`disks = { root = { size_gb = 8 } }`, `disks = { root = { size_gb = 8 }, data = { size_gb = 1 } }`, size, made},
		"DiskBetween":    {`disks = { root = { size_gb = 8 }, data = { size_gb = 2 } }`, `disks = { root = { size_gb = 8 }, cache = { size_gb = 3 }, data = { size_gb = 2 } }`, made, made},
		"DiskPool":       {`disks = { root = { size_gb = 8, pool = "default" } }`, `disks = { root = { size_gb = 8, pool = "fast" } }`, made, made},
		"InterfaceLabel": {`interfaces = { eth0 = { subnet = "lan" } }`, `interfaces = { nic = { subnet = "lan" } }`, keeps, keeps},
		// MAAS gives an address to an interface of a VM that is made anew, and to no other.
		"InterfaceComes":   {`interfaces = { eth0 = { subnet = "lan" } }`, `interfaces = { eth0 = { subnet = "lan" }, eth1 = { subnet = "dark" } }`, made, made},
		"InterfaceByDHCP":  {`interfaces = { eth0 = { subnet = "lan" } }`, `interfaces = { eth0 = { subnet = "lan" }, eth1 = { subnet = "dark", mode = "dhcp" } }`, size, size},
		"Image":            {`deploy = { image = "ubuntu/noble" }`, `deploy = { image = "ubuntu/jammy" }`, made, made},
		"Kernel":           {`deploy = { image = "ubuntu/noble", kernel = "ga-24.04" }`, `deploy = { image = "ubuntu/noble", kernel = "hwe-24.04" }`, made, made},
		"Ephemeral":        {`deploy = { image = "ubuntu/noble" }`, `deploy = { image = "ubuntu/noble", ephemeral = true }`, made, "no-op"},
		"Timeouts":         {`timeouts = { create = "10m" }`, `timeouts = { create = "20m" }`, keeps, keeps},
		"PinnedRemoved":    {`pinned_cores = [0, 1]`, ``, keeps, keeps},
		"PinnedAfterwards": {`cores = 2`, `pinned_cores = [0, 1]`, made, keeps},
		// A change of one of these lines would show. Removing all of them is no
		// change.
		"SizeRemoved": {`cores = 2
  memory_mib = 4096
  hugepages = true
  disks = { root = { size_gb = 9 }, data = { size_gb = 2 } }
  interfaces = { eth0 = { subnet = "lan" }, eth1 = { subnet = "dark" } }`, ``, "no-op", "no-op"},
		"PlaceRemoved": {`zone = "az2"
  deploy = { image = "ubuntu/noble", kernel = "ga-24.04" }`, `deploy = {}`, "no-op", "no-op"},
		"TagsRemoved":     {`tags = ["a"]`, ``, keeps, keeps},
		"TimeoutsRemoved": {`timeouts = { create = "10m" }`, ``, keeps, keeps},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			config := func(line string) string {
				body := "resource \"maaslxd_vm\" \"test\" {\n"
				for attribute, value := range map[string]string{"name": `"web"`, "vm_host": `"lxd1"`} {
					if !strings.HasPrefix(line, attribute+" =") {
						body += "  " + attribute + " = " + value + "\n"
					}
				}
				return x.config(body + "  " + line + "\n}\n")
			}
			w := newWorkspace(t, config(tc.from))
			w.run(t, "apply", "-auto-approve", "-no-color")
			for _, step := range []struct{ line, want string }{{tc.to, tc.there}, {tc.from, tc.back}} {
				before := w.systemID(t)
				w.configure(t, config(step.line))
				if got := joinActions(w.planActions(t)); got != step.want {
					t.Errorf("to %q: the plan wants %s, not %s", step.line, got, step.want)
				}
				w.run(t, "apply", "-no-color", "actions")
				w.run(t, "plan", "-detailed-exitcode", "-no-color")
				if same := w.systemID(t) == before; same == (step.want == made) {
					t.Errorf("to %q: the plan said %s, and the machine is the same one: %v", step.line, step.want, same)
				}
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// TestAccWorkflowNullElements refuses a null in a set, list or map before
// anything is made.
func TestAccWorkflowNullElements(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	for title, line := range map[string]string{
		"Tags": `tags = ["a", null]`, "EmptyTag": `tags = [""]`, "PinnedCores": `pinned_cores = [0, null]`, "Interfaces": `interfaces = { eth0 = null }`,
		"Disks": `disks = { root = { size_gb = 8 }, data = null }`, "PlacementTags": `placement = { tags = [null] }`,
	} {
		t.Run(title, func(t *testing.T) {
			body := "resource \"maaslxd_vm\" \"test\" {\n  name = \"web\"\n  " + line + "\n"
			if !strings.HasPrefix(line, "placement") {
				body += "  vm_host = \"lxd1\"\n"
			}
			w := newWorkspace(t, x.config(body+"}\n"))
			cmd, out := w.command(t.Context(), "plan", "-no-color")
			if err := cmd.Run(); err == nil || !wordsPattern("Error: Invalid").MatchString(unwrapMessage(out.String())) && !wordsPattern("a null value").MatchString(unwrapMessage(out.String())) {
				t.Errorf("want it refused, got %v:\n%s", err, out)
			}
			if strings.Contains(out.String(), "Value Conversion Error") {
				t.Errorf("the framework's own error is shown:\n%s", out)
			}
		})
	}
}
