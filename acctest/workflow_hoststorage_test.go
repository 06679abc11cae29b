package acctest_test

import (
	"fmt"
	"strings"
	"testing"
)

// tagSecondDisk tags the second disk of node1 "ssd", so that MAAS uses it as a
// cache.
func (x *metalTarget) tagSecondDisk(t *testing.T) {
	t.Helper()
	path := "nodes/" + x.findMachine(t, "node1").SystemID + "/blockdevices/"
	var disks []struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	x.callAsOperator(t, "GET", path, &disks)
	for _, d := range disks {
		if d.Name == "sdb" {
			x.callAsOperator(t, "POST", fmt.Sprintf("%s%d/?op=add_tag", path, d.ID), nil, "tag=ssd")
			return
		}
	}
	t.Fatalf("node1 has no disk sdb among %v", disks)
}

// describeCaches describes node1's bcaches: "bcache0 writeback on sda-part2".
func (x *metalTarget) describeCaches(t *testing.T) string {
	t.Helper()
	var caches []struct {
		Name    string `json:"name"`
		Mode    string `json:"cache_mode"`
		Backing struct {
			Name string `json:"name"`
			Size int64  `json:"size"`
		} `json:"backing_device"`
	}
	x.callAsOperator(t, "GET", "nodes/"+x.findMachine(t, "node1").SystemID+"/bcaches/", &caches)
	var texts []string
	for _, c := range caches {
		texts = append(texts, fmt.Sprintf("%s %s of %d GB", c.Name, c.Mode, inGB(c.Backing.Size)))
	}
	return strings.Join(texts, ", ")
}

// TestAccWorkflowCachedDisk puts the root file system of a host, and of a
// machine, on a part of a disk that an SSD caches. Another mode of the cache
// installs it anew. Without the lines it stays.
func TestAccWorkflowCachedDisk(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		address string
		with    func(deploy string) string
	}{
		"Host": {hostAddress, func(deploy string) string {
			return vmHost("kvm1", `machine = "node1"`, deploy, `lxd = { storage_pools = { default = { driver = "dir" } } }`)
		}},
		"Machine": {machineAddress, func(deploy string) string { return testMachine("db", `machine = "node1"`, deploy) }},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, addSecondDisk)
			x.tagSecondDisk(t)
			cached := func(mode string) string {
				return x.config(tc.with(`deploy = { image = "ubuntu/noble", storage_layout = { type = "bcache", root_disk = "sda", root_size_gb = 40, cache_mode = "` + mode + `" } }`))
			}
			w := newWorkspace(t, cached("writeback"))
			for _, step := range []struct{ mode, plan string }{{"writeback", "create"}, {"writearound", "delete,create"}} {
				w.configure(t, cached(step.mode))
				if got := joinActions(w.planActionsOn(t, tc.address)); got != step.plan {
					t.Errorf("to %s: the plan wants %s", step.mode, got)
				}
				w.run(t, "apply", "-no-color", "actions")
				w.wantEmptyPlan(t)
				if got := x.describeCaches(t); got != "bcache0 "+step.mode+" of 40 GB" {
					t.Errorf("the caches are %q", got)
				}
			}
			w.configure(t, x.config(tc.with(deployNoble)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
			if got := x.describeCaches(t); got != "bcache0 writearound of 40 GB" {
				t.Errorf("without the lines, the caches are %q", got)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
