package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	const text = "Warning: overrides\n\n  # maaslxd_vm.a will be created\n  + resource {\n      + cores = 2\n    }\n" +
		"Plan: 1 to add.\nmaaslxd_vm.a: Creating...\nreleases.\nApply complete!\nNo changes. All is well.\nno end"
	const want = "  # maaslxd_vm.a will be created\nPlan: 1 to add.\nmaaslxd_vm.a: Creating...\nNo changes. All is well.\n"
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
