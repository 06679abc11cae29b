package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrintFleet(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	printFleet(&got, map[string]host{
		"kvm-b": {Zone: "az2", Cores: amount{Used: 0, Total: 16}, MemoryMiB: amount{Used: 0, Total: 65536}},
		"kvm-a": {Zone: "az1", Cores: amount{Used: 4, Total: 16}, MemoryMiB: amount{Used: 8192, Total: 65536}, VMs: []string{"vm-1", "vm-2"}},
	})
	want := `HOST   ZONE  CORES    MEMORY       VMS
kvm-a  az1   4 of 16  8 of 64 GiB  vm-1 vm-2
kvm-b  az2   0 of 16  0 of 64 GiB  
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPrintMachines(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	printMachines(&got, []machine{
		{Name: "node1", Zone: "az1", Cores: 16, MemoryMiB: 65536, Status: "Ready"},
		{Name: "node2", Zone: "az2", Cores: 8, MemoryMiB: 32768, Status: "Deployed", Owner: "admin"},
	})
	want := `MACHINE  ZONE  CORES  MEMORY  STATUS    OWNER
node1    az1   16     64 GiB  Ready     -
node2    az2   8      32 GiB  Deployed  admin
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
