// Package placement decides on which LXD hosts a VM may go, and which is the better one.
//
// It filters: a host without the wanted zone, tags, network, storage pool or
// room is out. It scores what is left by how full the VM makes it. Hosts that are
// equal in this are told apart by a hash of the VM's key and the host's id, so that
// VMs which are placed at the same moment do not all run to the same host.
//
// The members of a group spread over zones and hosts where the room is reserved: only
// the ledger knows those that are being made (engine/ledger/place.go).
//
// The package is pure: it calls nothing, waits for nothing and keeps nothing.
// The same hosts, in any order, and the same need give the same answer.
package placement

import "slices"

// FindCandidates returns every host on which the need fits, the best one first, with
// what is free there. The hosts are not changed.
//
// The error is a *FitError when no host fits, a *NeedError when the need
// itself makes no sense.
func FindCandidates(hosts []Host, need Need) ([]Candidate, error) {
	r, err := need.request()
	if err != nil {
		return nil, err
	}
	prepared := make([]host, len(hosts))
	var scores []score
	for i := range hosts {
		prepared[i] = newHost(&hosts[i])
		if h := &prepared[i]; h.accepts(&r) {
			scores = append(scores, h.scoreFor(&r))
		}
	}
	if len(scores) == 0 {
		return nil, newFitError(prepared, &r)
	}
	slices.SortFunc(scores, score.compare)
	candidates := make([]Candidate, len(scores))
	for i, s := range scores {
		candidates[i] = s.candidate(&r)
	}
	return candidates, nil
}
