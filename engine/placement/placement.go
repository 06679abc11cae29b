// Package placement decides on which LXD host a VM goes.
//
// It filters: a host without the wanted zone, tags, network, storage pool or
// room is out. It scores what is left: the VMs of one group spread over the
// zones first, then over the hosts, and only then does the strategy look at
// how full a host is. Hosts that are equal in all of this are told apart by a
// hash of the VM's key and the host's id, so that VMs which are placed at the
// same moment do not all run to the same host.
//
// The package is pure: it calls nothing, waits for nothing and keeps nothing
// but what a Fleet was given. The same hosts, in any order, and the same need
// give the same answer.
package placement

import "fmt"

// Fit returns every host on which the need fits, the best one first, with
// what is free there. The hosts are not changed.
//
// The error is a *FitError when no host fits, a *NeedError when the need
// itself makes no sense.
func Fit(hosts []Host, need Need) ([]Candidate, error) {
	return NewFleet(hosts).Fit(need)
}

// Choose returns the best host for the need: the first one of Fit, in less
// time. Errors are those of Fit.
func Choose(hosts []Host, need Need) (Candidate, error) {
	return NewFleet(hosts).Place(need)
}

// DistributeAcrossZones places count VMs of the same need, one after the
// other, and returns where each of them goes. They form a group, if the need
// names none, and the group's members, those that run already included, end up
// even over the zones within one. Only where a zone has no room left do the
// others get more.
//
// It is all or nothing: if one VM does not fit, there is only an error, which
// says how many did and wraps the *FitError of the first one that did not.
func DistributeAcrossZones(hosts []Host, need Need, count int) ([]Candidate, error) {
	if count < 0 {
		return nil, &NeedError{Field: "count", Message: fmt.Sprintf("cannot place %d VMs: give 0 or more", count)}
	}
	r, err := need.request()
	if err != nil {
		return nil, err
	}
	f := NewFleet(hosts)
	if r.members = f.membersOf(need.Group); r.members == nil {
		r.members = f.noMembers()
	}
	placed := make([]Candidate, 0, count)
	for i := range count {
		c, err := f.place(&r)
		if err != nil {
			return nil, fmt.Errorf("only %d of %d VMs fit: %w", i, count, err)
		}
		placed = append(placed, c)
	}
	return placed, nil
}
