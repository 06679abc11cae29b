package diagnostics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

func TestReportError(t *testing.T) {
	t.Parallel()
	refusal := func(fields map[string][]string) error {
		return fmt.Errorf("cannot change web-1: %w", &api.Error{
			Status: 400, Method: "PUT", Route: "machines/{id}/", Message: "refused", FieldMessages: fields, Kind: engine.ErrInvalid,
		})
	}
	cases := map[string]struct {
		reason string
		err    error
		at     path.Path
		says   []string // text in the detail
		not    string   // text that is not in the detail
	}{
		"SpecField": {
			reason: "A field of the spec is an attribute.",
			err:    &engine.SpecError{Field: fieldpath.New("zone"), Message: `MAAS knows no zone "az9"`, Hint: "Known: az1.", Err: engine.ErrNotFound},
			at:     path.Root("zone"), says: []string{`zone: MAAS knows no zone "az9".`, "\n\nKnown: az1."}, not: "not found",
		},
		"SpecDisk": {
			reason: "The CLI would show the pool of the VM.",
			err:    fmt.Errorf("cannot create: %w", &engine.SpecError{Field: fieldpath.New("disks").Key("root").Child("pool"), Message: "unknown"}),
			at:     path.Root("disks"), says: []string{"disks.root.pool: "},
		},
		"SpecInterface": {
			reason: "Interfaces are attributes. The text of a cause is kept.",
			err:    &engine.SpecError{Field: fieldpath.New("interfaces").Key("eth0").Child("ip"), Message: "not free", Err: errors.New("10.0.0.1 belongs to db-1")},
			at:     path.Root("interfaces").AtMapKey("eth0").AtName("ip"), says: []string{"not free: 10.0.0.1 belongs to db-1."},
		},
		"SpecUserData": {
			reason: "The field of the user-data has another name here.",
			err:    &engine.SpecError{Field: fieldpath.New("deploy", "user_data"), Message: "too large"},
			at:     path.Root("deploy").AtName("user_data_wo"),
		},
		"SpecPlacement": {
			reason: "The CLI would show the tags of the VM.",
			err:    &engine.SpecError{Field: fieldpath.New("placement", "tags"), Message: "unknown"},
			at:     path.Root("placement"), says: []string{"placement.tags: "},
		},
		"SpecPlacementWhole": {
			reason: "An error about a whole object is shown at its attribute.",
			err:    &engine.SpecError{Field: fieldpath.New("placement"), Message: "and vm_host exclude each other"},
			at:     path.Root("placement"),
		},
		"SpecStrange": {
			reason: "The error of a field without an attribute is kept.",
			err:    &engine.SpecError{Field: fieldpath.New("weather"), Message: "foul"},
			at:     path.Empty(), says: []string{"weather: foul."},
		},
		"NameTaken": {
			reason: "The hint of the engine comes before that of the sentinel.",
			err:    &engine.SpecError{Field: fieldpath.New("name"), Message: "taken", Hint: "Import it by its system id x.", Err: engine.ErrConflict},
			at:     path.Root("name"), says: []string{"Import it by its system id x."},
		},
		"LXDError": {
			reason: "An error of LXD keeps its host and its hint.",
			err: engine.MarkTerminal(&engine.Error{
				Type: engine.InsufficientResources, Host: "lxd-a", Message: "9 cores wanted, 8 left", Hint: "Choose another VM host.",
			}),
			at: path.Empty(), says: []string{"9 cores wanted, 8 left (VM host lxd-a).", "Choose another VM host."},
		},
		"LXDErrorOverFields": {
			reason: "MAAS's error without a field does not hide LXD's error.",
			err: &engine.Error{
				Type: engine.VMCreationFailed, Message: "cannot compose web-1", Hint: "Look in LXD.",
				Err: refusal(map[string][]string{"__all__": {"No."}}),
			},
			at: path.Empty(), says: []string{"cannot compose web-1", "Look in LXD."},
		},
		"Refused": {
			reason: "MAAS's own words explain an error without a field.",
			err:    refusal(map[string][]string{"__all__": {"Not so."}}),
			at:     path.Empty(), says: []string{"cannot change web-1: refused (PUT machines/{id}/, status 400)."}, not: "__all__",
		},
		"Refusal": {
			reason: "A refusal has its own hint. That of the sentinel would mislead.",
			err: fmt.Errorf("cannot go on: %w", &engine.Refusal{
				Message: "cannot change web-1: it is locked in MAAS", Hint: "Unlock it first.", Err: engine.ErrConflict,
			}),
			at: path.Empty(), says: []string{"it is locked in MAAS.\n\nUnlock it first."}, not: "import",
		},
		"BareSentinel": {
			reason: "The text of a sentinel is for programs, not for people.",
			err:    fmt.Errorf("web-1 is being deleted: %w", engine.ErrBusy),
			at:     path.Empty(), says: []string{"web-1 is being deleted.", "Apply again"}, not: ": busy",
		},
		"Forbidden": {
			reason: "The user must change a key without enough permissions in the provider block.",
			err:    fmt.Errorf("user %q may not compose VMs: %w", "bob", engine.ErrForbidden),
			at:     path.Empty(), says: []string{`user "bob" may not`, "MAAS_API_KEY", "administrator"},
		},
		"Gone": {
			reason: "A MAAS without VM hosts needs another composer or another MAAS.",
			err:    fmt.Errorf("MAAS 4.0 has no VM hosts any more: %w", engine.ErrGone),
			at:     path.Empty(), says: []string{"after 3.8"},
		},
		"Conflict": {
			reason: "An existing object can be imported.",
			err:    fmt.Errorf("cannot delete: %w", engine.ErrConflict),
			at:     path.Empty(), says: []string{"terraform import"},
		},
		"Unavailable": {
			reason: "If MAAS cannot be reached, nothing is lost.",
			err:    fmt.Errorf("no answer: %w", engine.ErrUnavailable),
			at:     path.Empty(), says: []string{"api_url", "apply again"},
		},
		"MAASKnowsBetter": {
			reason: "The client's hint comes before that of the sentinel.",
			err:    &api.Error{Method: "GET", Route: "version/", Message: "no TLS", Hint: "Use https://.", Kind: engine.ErrUnavailable},
			at:     path.Empty(), says: []string{"no TLS", "Use https://."}, not: "rack",
		},
		"UnclearIsMoreThanUnavailable": {
			reason: "A lost reply is reported as such.",
			err:    fmt.Errorf("%w: %w", engine.ErrUnavailable, engine.ErrUnclear),
			at:     path.Empty(), says: []string{"checks first"},
		},
		"TimeIsUp": {
			reason: "The next run finds what was begun.",
			err:    fmt.Errorf("%w while Commissioning", context.DeadlineExceeded),
			at:     path.Empty(), says: []string{"Apply again: what was begun is found and continued."},
		},
		"Plain": {
			reason: "An unknown error is passed on.",
			err:    errors.New("strange"), at: path.Empty(), says: []string{"strange."}, not: "\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			ReportError(&diags, "create VM web-1", tc.err)
			if len(diags) != 1 || diags[0].Summary() != "Cannot create VM web-1" {
				t.Fatalf("%s\ngot %v, want one error of the create", tc.reason, providertest.DescribeDiagnostics(diags))
			}
			at := path.Empty()
			if d, ok := diags[0].(diag.DiagnosticWithPath); ok {
				at = d.Path()
			}
			if !at.Equal(tc.at) {
				t.Errorf("%s\ngot it at %s, want %s", tc.reason, at, tc.at)
			}
			for _, text := range tc.says {
				if !strings.Contains(diags[0].Detail(), text) {
					t.Errorf("%s\ngot %q, want %q in it", tc.reason, diags[0].Detail(), text)
				}
			}
			if tc.not != "" && strings.Contains(diags[0].Detail(), tc.not) {
				t.Errorf("%s\ngot %q, with %q in it", tc.reason, diags[0].Detail(), tc.not)
			}
		})
	}
}

// TestReportOfSeveralFields wants an error at each wrong field.
func TestReportOfSeveralFields(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	ReportError(&diags, "update VM web-1", fmt.Errorf("cannot change web-1: %w", errors.Join(
		&engine.SpecError{Field: fieldpath.New("zone"), Message: "MAAS says: no", Err: engine.ErrInvalid},
		&engine.SpecError{Field: fieldpath.New("deploy", "image"), Message: "MAAS says: never", Hint: "Take another.", Err: engine.ErrInvalid},
	)))
	want := []string{
		"Error zone: Cannot update VM web-1: zone: MAAS says: no.",
		"Error deploy.image: Cannot update VM web-1: deploy.image: MAAS says: never.\n\nTake another.",
	}
	if diff := cmp.Diff(want, providertest.DescribeDiagnostics(diags)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
