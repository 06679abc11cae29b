package demand

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
)

// PickAllowed returns a value that the identity's list allows: the wanted one,
// or the only allowed one. An empty list allows all.
func PickAllowed(field, want string, allowed []string) (string, error) {
	switch {
	case len(allowed) == 0 || slices.Contains(allowed, want):
		return want, nil
	case want == "" && len(allowed) == 1:
		return allowed[0], nil
	}
	message := fmt.Sprintf("%s: the cluster's identity does not allow %q", field, want)
	if want == "" {
		message = field + ": the cluster's identity wants one to be named"
	}
	return "", &problem.BlockedError{Reason: infrav1.InvalidSpecReason, Message: message, Hint: "It allows " + strings.Join(allowed, ", ") + "."}
}

// ApplyLimits checks a machine against the identity's limits. It fills in what
// the machine leaves open where only one value is allowed. zone is the zone of
// its Machine.
func ApplyLimits(limits infrav1.IdentityLimits, want *infrav1.ResolvedMachine, zone, dnsDomain string) error {
	var err error
	if want.ResourcePool, err = PickAllowed("spec.resourcePool", want.ResourcePool, limits.ResourcePools); err != nil {
		return err
	}
	if zone == "" {
		zone = want.FailureDomain
	}
	if want.FailureDomain, err = PickAllowed("spec.failureDomain", zone, limits.Zones); err != nil || want.VM == nil {
		return err
	}
	if want.VM.Host, err = PickAllowed("spec.lxdConfig.vmHost", want.VM.Host, limits.Hosts); err != nil {
		return err
	}
	if want.VM.Domain == "" && slices.Contains(limits.Domains, dnsDomain) {
		want.VM.Domain = dnsDomain
	}
	want.VM.Domain, err = PickAllowed("spec.lxdConfig.domain", want.VM.Domain, limits.Domains)
	return err
}
