package demand

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
)

// PickAllowed is a value that a list of the identity allows: the one that is wanted, or
// the only one that may be had. An empty list allows all.
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

// ApplyLimits keeps a machine to what the identity allows, and fills in what it leaves
// open where only one thing is allowed. zone is that of its Machine.
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
