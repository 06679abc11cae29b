package main

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

var updateOperations = flag.Bool("update-operations", false, "write OPERATIONS.md")

// TestOperationsTable: the table must agree with the routes.
func TestOperationsTable(t *testing.T) {
	t.Parallel()
	want := sim.OperationsTable()
	if *updateOperations {
		if err := os.WriteFile("OPERATIONS.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("OPERATIONS.md is not what is served; write it by make generate (-want +have):\n%s", diff)
	}
}
