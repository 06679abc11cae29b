package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// within is a value that a list of the identity allows: the one that is wanted, or
// the only one that may be had. An empty list allows all.
func within(field, want string, allowed []string) (string, error) {
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
	return "", &blocked{reason: infrav1.InvalidSpecReason, message: message, hint: "It allows " + strings.Join(allowed, ", ") + "."}
}

// limit keeps a machine to what the identity allows, and fills in what it leaves
// open where only one thing is allowed. zone is that of its Machine.
func limit(limits infrav1.IdentityLimits, want *infrav1.ResolvedMachine, zone, dnsDomain string) error {
	var err error
	if want.ResourcePool, err = within("spec.resourcePool", want.ResourcePool, limits.ResourcePools); err != nil {
		return err
	}
	if zone == "" {
		zone = want.FailureDomain
	}
	if want.FailureDomain, err = within("spec.failureDomain", zone, limits.Zones); err != nil || want.VM == nil {
		return err
	}
	if want.VM.Host, err = within("spec.lxdConfig.vmHost", want.VM.Host, limits.Hosts); err != nil {
		return err
	}
	if want.VM.Domain == "" && slices.Contains(limits.Domains, dnsDomain) {
		want.VM.Domain = dnsDomain
	}
	want.VM.Domain, err = within("spec.lxdConfig.domain", want.VM.Domain, limits.Domains)
	return err
}

// limitSpec keeps what the object asks for to what its identity allows, before
// anything is allocated or composed.
func (s *machineScope) limitSpec() error {
	zone := ""
	if s.machine != nil {
		zone = s.machine.Spec.FailureDomain
	}
	if err := limit(s.site.Limits, &s.want, zone, s.maasCluster.Spec.DNSDomain); err != nil || s.hosts == nil {
		return err
	}
	return s.limitHosts()
}

// limitHosts keeps the LXD host that a machine becomes to what the identity allows. What
// the MaasCluster leaves open is the machine's own.
func (s *machineScope) limitHosts() error {
	hosts, limits := *s.hosts, s.site.Limits
	var err error
	if hosts.Zone != "" {
		if _, err = within("lxdConfig.zone of the MaasCluster", hosts.Zone, limits.Zones); err != nil {
			return err
		}
	}
	if hosts.ResourcePool != "" {
		_, err = within("lxdConfig.resourcePool of the MaasCluster", hosts.ResourcePool, limits.ResourcePools)
	}
	return err
}

// mayAdopt tells whether a machine that runs is one that the identity allows.
func (s *machineScope) mayAdopt(seen sighting) error {
	limits := s.site.Limits
	if _, err := within("the machine's resource pool", seen.Pool, limits.ResourcePools); err != nil {
		return err
	}
	if _, err := within("the machine's zone", seen.Zone, limits.Zones); err != nil || s.kind() != kindVM {
		return err
	}
	if seen.HostName != "" { // else MAAS does not tell it for the moment
		if _, err := within("the VM's host", seen.HostName, limits.Hosts); err != nil {
			return err
		}
	}
	_, err := within("the VM's domain", seen.Domain, limits.Domains)
	return err
}

// isTakeOver tells whether the object has no right to its machine but that it is taken
// over: another provider made it, or only the object's annotations say whose it is, as
// noteOrigin noted.
func (s *machineScope) isTakeOver() bool {
	return s.adoptionPending() || s.maasMachine.Annotations[UnprovenAnnotation] != ""
}

// takeOverLimited is why a machine may not be taken over; nil: it may be, or bears the
// object's mark.
func (s *machineScope) takeOverLimited(seen sighting) *blocked {
	key := s.engineKey()
	_, isMark := readOwnership(string(key))
	marked := seen.MarkedBy()
	if !s.isTakeOver() || marked == s.ownKey() || isMark && marked == key && !s.adoptionPending() {
		return nil
	}
	err := s.mayAdopt(seen)
	if err == nil {
		return nil
	}
	return &blocked{
		reason:  infrav1.ConflictReason,
		message: fmt.Sprintf("machine %s (%s) is not taken over: %s", seen.Hostname, seen.SystemID, explain(err).message),
		hint:    "Delete this object: nothing is done to the machine for that.",
	}
}

// limitedError is why a machine that may not be taken over is left as it is.
type limitedError struct{ *blocked }

// Unwrap lets explain find the reason.
func (e limitedError) Unwrap() error { return e.blocked }

// checkTakeOver looks at a machine that would be taken over. The error is a limitedError
// where that is not allowed, and any other one where it cannot be told.
func (s *machineScope) checkTakeOver(ctx context.Context, d driver) error {
	if !s.isTakeOver() {
		return nil
	}
	seen, err := d.observe(ctx, s.ref())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if limited := s.takeOverLimited(seen); limited != nil {
		return limitedError{limited}
	}
	return nil
}
