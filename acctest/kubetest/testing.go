package kubetest

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

// StartForTest starts a control plane for a test, and stops it when the test
// ends.
//
// It skips the test with the reason where the programs cannot be built, because
// their modules are neither in the module cache nor available.
func StartForTest(t testing.TB, o Options) *ControlPlane {
	t.Helper()
	builder, err := programs.NewBuilder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var unavailable *programs.BuildError
	_, err = builder.Build(t.Context(), o.programs()...)
	switch {
	case errors.As(err, &unavailable):
		t.Skipf("skipped: there is no Kubernetes: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Log == nil {
		o.Log = t.Output()
	}
	c, err := StartControlPlane(t.Context(), builder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}
