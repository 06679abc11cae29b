package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// TestReasonsOfErrors: the row of a MaasCluster's condition has the reasons that
// come of errors, too.
func TestReasonsOfErrors(t *testing.T) {
	t.Parallel()
	maas := []error{
		errors.New("no route to host"), engine.ErrUnavailable, engine.ErrForbidden, &engine.Refusal{},
	}
	cases := map[string]struct {
		reason string
		errs   []error
	}{
		infrav1.IdentityReadyCondition: {"The credentials are read from the API server.", []error{
			errors.New("no route to host"), &CredentialsError{Reason: infrav1.InvalidSpecReason},
		}},
		infrav1.FailureDomainsReadyCondition: {"MAAS's zones are listed.", append(maas, &blocked{reason: infrav1.ControlPlaneNotFoundReason})},
		infrav1.DNSReadyCondition: {"The record is written in a domain that must be there.", append(maas,
			&engine.SpecError{Field: "domain"}, &engine.Refusal{Err: engine.ErrConflict})},
	}
	for condition, tc := range cases {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			row := slices.DeleteFunc(tables(t), func(row string) bool { return !strings.HasPrefix(row, "| `"+condition+"` |") })
			for _, err := range tc.errs {
				s := &clusterScope{maas: &infrav1.MaasCluster{}, site: &Site{}}
				if condition == infrav1.IdentityReadyCondition {
					s.identityFailed(err)
				} else {
					s.failed(condition, err)
				}
				if reason := conditions.GetReason(s.maas, condition); !wordsOf(row)[reason] {
					t.Errorf("%s\nthe row of %s has no %s, which comes of %T: %v", tc.reason, condition, reason, err, err)
				}
			}
		})
	}
}

// TestLasting: a connection that breaks again and again says the same each time, so
// that its condition is written once.
func TestLasting(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"read tcp 10.0.0.2:54321->10.0.0.1:5240: connection reset by peer":    "read tcp 10.0.0.2->10.0.0.1:5240: connection reset by peer",
		"write tcp [fe80::2]:54321->[fe80::1]:8443: broken pipe":              "write tcp [fe80::2]->[fe80::1]:8443: broken pipe",
		"dial tcp 10.0.0.1:5240: connect: connection refused":                 "dial tcp 10.0.0.1:5240: connect: connection refused",
		"machine m1 (abc) is Ready, and 3 of 5->6 cores of its host are used": "machine m1 (abc) is Ready, and 3 of 5->6 cores of its host are used",
	} {
		if got := explain(errors.New(said)).message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
