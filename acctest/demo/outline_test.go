package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	const text = "Warning: overrides\n\n  # maaslxd_vm.a will be created\n  + resource {\n      + cores = 2\n    }\n" +
		"Plan: 1 to add.\nmodule.f.maaslxd_vm.a: Creating...\nmodule.f.maaslxd_vm.a: Still creating... [10s elapsed]\n" +
		"module.f.maaslxd_vm.a: Creation complete after 12s\nmodule.f.maaslxd_vm.b: Refreshing state...\n" +
		"releases.\nApply complete!\nNo changes. All is well.\nno end"
	const want = "  # maaslxd_vm.a will be created\nPlan: 1 to add.\nmodule.f.maaslxd_vm.a: Creating...\n" +
		"module.f.maaslxd_vm.a: Creation complete after 12s\nNo changes. All is well.\n"
	for _, size := range []int{1, 7, len(text)} {
		var got bytes.Buffer
		o := &outline{out: &got}
		for start := 0; start < len(text); start += size {
			part := text[start:min(start+size, len(text))]
			if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", part, n, err)
			}
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("written in parts of %d\n-want +got:\n%s", size, diff)
		}
	}
}
