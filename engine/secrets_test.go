package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// redactingReports is a MAAS that takes secrets out of a text.
type redactingReports struct{ engine.Reports }

// Redact implements engine.Reports.
func (redactingReports) Redact(text string, secrets ...string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}

// TestStepsTellNoSecrets: a step does not tell what MAAS repeats of the user-data.
func TestStepsTellNoSecrets(t *testing.T) {
	t.Parallel()
	verbs := engine.Verbs[engine.MachineSpec, engine.BareMetal]{
		Reconcile: func(context.Context, engine.Ref, engine.MachineSpec) (engine.Result[engine.BareMetal], error) {
			return engine.Result[engine.BareMetal]{Message: "failed at join --certificate-key 9f"}, nil
		},
	}
	of := func(s engine.MachineSpec) []string { return s.Deploy.Secrets() }
	secret := engine.MachineSpec{Deploy: &engine.Deployment{UserData: []byte("join --certificate-key 9f")}}
	for name, tc := range map[string]struct {
		reports engine.Reports
		spec    engine.MachineSpec
		want    string
	}{
		"Secret":    {redactingReports{}, secret, "failed at …"},
		"None":      {redactingReports{}, engine.MachineSpec{}, "failed at join --certificate-key 9f"},
		"NoReports": {nil, secret, "failed at join --certificate-key 9f"},
	} {
		res, err := engine.NewKind(verbs.WithoutSecrets(tc.reports, of)).Steps(engine.Ref{}, tc.spec)(t.Context())
		if err != nil || res.Message != tc.want {
			t.Errorf("%s: got %q, %v, want %q", name, res.Message, err, tc.want)
		}
	}
}
