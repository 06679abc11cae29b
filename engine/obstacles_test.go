package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// TestObstacles sorts what a check finds: what can never be met, what others of
// this program may give up, and what could not be seen.
func TestObstacles(t *testing.T) {
	t.Parallel()
	short := &Error{Type: InsufficientResources, Message: "3 cores wanted, 2 left"}
	cases := map[string]struct {
		reason                   string
		err                      error
		lasting, passing, unseen int
	}{
		"Nothing":     {reason: "Nothing is in the way."},
		"Misspelled":  {reason: "No repetition mends a name.", err: &SpecError{Field: fieldpath.New("zone"), Err: ErrNotFound}, lasting: 1},
		"Refused":     {reason: "A user of MAAS who may not compose.", err: &Refusal{Err: ErrForbidden}, lasting: 1},
		"NoRoom":      {reason: "The same run may make room.", err: short, passing: 1},
		"NeverRoom":   {reason: "No host is large enough.", err: MarkTerminal(short), lasting: 1},
		"HostSilent":  {reason: "What stands is not given up for a host that does not answer.", err: &Error{Type: HostUnavailable, Err: ErrUnavailable}, lasting: 1},
		"Unavailable": {reason: "MAAS did not answer.", err: fmt.Errorf("GET zones/: %w", ErrUnavailable), unseen: 1},
		"Several": {
			reason: "Each is one.", err: errors.Join(&SpecError{Field: fieldpath.New("zone")}, errors.Join(&SpecError{Field: fieldpath.New("pool")}, short)),
			lasting: 2, passing: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o Obstacles
			o.Add(tc.err)
			if len(o.Permanent) != tc.lasting || len(o.Temporary) != tc.passing || len(o.Unchecked) != tc.unseen {
				t.Errorf("%s\ngot %+v", tc.reason, o)
			}
			if o.IsEmpty() != (tc.err == nil) {
				t.Errorf("%s\nnone says %v", tc.reason, o.IsEmpty())
			}
		})
	}
	var o Obstacles
	o.AddHeldBy(Machine{Description: DescriptionWithMark("", "team/web", true)}, short)
	o.AddHeldBy(Machine{}, short)
	if len(o.Temporary) != 1 || len(o.Permanent) != 1 {
		t.Errorf("what a VM of this program has may pass, what another machine has does not: %+v", o)
	}
}

func TestCheckKernel(t *testing.T) {
	t.Parallel()
	noble := Image{Name: "ubuntu/noble", Kernels: []string{"ga-24.04", "hwe-24.04"}}
	cases := map[string]struct {
		reason string
		kernel string
		images []Image
		bad    bool
	}{
		"None":    {"MAAS chooses.", "", []Image{noble}, false},
		"Known":   {"MAAS has it.", "hwe-24.04", []Image{noble}, false},
		"Unknown": {"MAAS refuses it, after the VM was made.", "ga-22.04", []Image{noble}, true},
		"Untold":  {"MAAS has the last word where it tells no kernels.", "ga-22.04", []Image{{Name: "ubuntu/noble"}}, false},
		"Custom":  {"An image of a user's own runs on the kernels of others.", "ga-22.04", []Image{{Name: "custom/mine", Kernels: []string{"ga-24.04"}}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := (&Deployment{Image: "ubuntu/noble", Kernel: tc.kernel}).checkKernel(tc.images)
			var bad *SpecError
			if errors.As(err, &bad) != tc.bad || tc.bad && bad.Field.String() != "deploy.kernel" {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}
