package client

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// fixedRegionMark is a MAAS with a mark, or without one.
type fixedRegionMark string

func (m fixedRegionMark) RegionMark(context.Context) (string, error)     { return string(m), nil }
func (m fixedRegionMark) MakeRegionMark(context.Context) (string, error) { return string(m), nil }

// TestRequireMAAS: in another MAAS, the objects of the state would seem to be gone.
func TestRequireMAAS(t *testing.T) {
	cases := map[string]struct {
		reason string
		known  string // in the state
		here   fixedRegionMark
		accept string // in the environment
		want   string
		is     error
	}{
		"Same":           {reason: "It is the MAAS of the state.", known: "a", here: "a", want: "a"},
		"NotNoted":       {reason: "A state from before marks knows no mark.", here: "a"},
		"Another":        {reason: "Another MAAS answers at the address.", known: "a", here: "b", is: engine.ErrConflict},
		"Empty":          {reason: "A MAAS that was installed anew has no mark, and none of the VMs.", known: "a", is: engine.ErrConflict},
		"Accepted":       {reason: "The user says that it is the same MAAS.", known: "a", here: "b", accept: "b", want: "b"},
		"AcceptedNone":   {reason: "The MAAS was restored without its tag.", known: "a", accept: noMarkValue},
		"AcceptedOthers": {reason: "The user accepted the mark of another MAAS than this one.", known: "a", here: "b", accept: "c", is: engine.ErrConflict},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(acceptMAASVariable, tc.accept)
			b := &Backend{marks: tc.here, apiURL: "http://maas.example.com:5240/MAAS"}
			got, err := b.RequireSameMAAS(t.Context(), tc.known)
			if got != tc.want || !errors.Is(err, tc.is) {
				t.Errorf("%s\ngot %q and the error %v, want %q and %v", tc.reason, got, err, tc.want, tc.is)
			}
			if err != nil && !strings.Contains(err.Error(), " has "+markText(string(tc.here))+", and the state knows the mark a") {
				t.Errorf("%s\ngot %v, want both marks in words", tc.reason, err)
			}
		})
	}
}
