package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// networkFitError says which interface is on a subnet that none of the possible VM hosts is attached
// to. It is nil if anything else is in the way.
func (f *Finder) networkFitError(ctx context.Context, want engine.VMSpec, err error) error {
	hosts, listErr := f.hostsWithoutNetwork(ctx, err)
	if listErr != nil || len(hosts) == 0 {
		return listErr
	}
	networks, err := f.readHostNetworks(ctx, hosts...)
	if err != nil {
		return err
	}
	for _, i := range want.Interfaces {
		subnet, err := f.FindNetwork(ctx, i.Field(), i.Network())
		isAttached := func(h engine.VMHost) bool {
			return slices.ContainsFunc(networks.subnetsOf(h, ""), func(s engine.Subnet) bool { return s.ID == subnet.ID })
		}
		if i.Network().IsEmpty() || err != nil || slices.ContainsFunc(hosts, isAttached) {
			continue
		}
		refused := notAttachedError(i, subnet, "no VM host that "+want.Name+" may be on is", networks.describe(hosts))
		refused.Ways = []engine.Way{engine.WayMakeHostFirst}
		return refused
	}
	return nil
}

// hostsWithoutNetwork lists the VM hosts that only their networks keep from having the VM. There are
// none if anything else is in the way of another one that the spec allows.
func (f *Finder) hostsWithoutNetwork(ctx context.Context, err error) ([]engine.VMHost, error) {
	misfit, ok := errors.AsType[*placement.FitError](err)
	if !ok {
		return nil, nil
	}
	var keys []string
	for _, r := range misfit.Rejections() {
		switch r.Reason {
		case placement.NoNetwork:
			keys = append(keys, r.HostID)
		case placement.WrongType, placement.WrongZone, placement.WrongPool, placement.MissingTags: // the spec leaves it out
		default:
			return nil, nil
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	all, err := f.Composer.Hosts(ctx)
	return slices.DeleteFunc(slices.Clone(all), func(h engine.VMHost) bool { return !slices.Contains(keys, h.HostKey) }), err
}

// describe says to which subnets the first of the hosts are attached.
func (r hostAttachments) describe(hosts []engine.VMHost) string {
	const most = 5
	var lines []string
	for _, h := range hosts[:min(most, len(hosts))] {
		lines = append(lines, h.Name+" is attached to "+engine.SubnetTexts(r.subnetsOf(h, "")))
	}
	if len(hosts) > most {
		lines = append(lines, fmt.Sprintf("and %d more are not on it either", len(hosts)-most))
	}
	return strings.Join(lines, "; ")
}
