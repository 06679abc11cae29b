package cluster

import (
	"errors"
	"slices"
	"testing"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
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
			errors.New("no route to host"), &controller.CredentialsError{Reason: infrav1.InvalidSpecReason},
		}},
		infrav1.FailureDomainsReadyCondition: {"MAAS's zones are listed.", append(maas, &problem.BlockedError{Reason: infrav1.ControlPlaneNotFoundReason})},
		infrav1.DNSReadyCondition: {"The record is written in a domain that must be there.", append(maas,
			&engine.SpecError{Field: fieldpath.New("dns", "domain")}, &engine.Refusal{Err: engine.ErrConflict})},
	}
	for condition, tc := range cases {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			documented := controllertest.DocumentedConditions(t)["MaasCluster"][condition]
			for _, err := range tc.errs {
				s := &scope{maasCluster: &infrav1.MaasCluster{}, site: &controller.Site{}}
				if condition == infrav1.IdentityReadyCondition {
					s.reportIdentityError(err)
				} else {
					s.reportError(condition, err)
				}
				if reason := conditions.GetReason(s.maasCluster, condition); !slices.Contains(documented, reason) {
					t.Errorf("%s\nthe section of %s has no %s, which comes of %T: %v", tc.reason, condition, reason, err, err)
				}
			}
		})
	}
}
