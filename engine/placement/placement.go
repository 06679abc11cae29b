// Package placement decides which LXD hosts are suitable for a VM, and which one is the best.
//
// It filters: a host without the wanted zone, tags, network, storage pool or room is out. It
// scores the rest by how full the VM makes them. A hash of the VM's key and the host's id
// decides between equal hosts. So VMs that are placed at the same moment do not all go to the
// same host.
//
// The ledger spreads the members of a group over zones and hosts when it reserves the room:
// only the ledger knows those that are still being made (engine/ledger/place.go).
//
// The package is pure: it calls nothing, waits for nothing and stores nothing. The same hosts,
// in any order, and the same need give the same answer.
package placement

import "slices"

// FindCandidates returns every host on which the need fits, the best one first, with its free
// resources. It does not change the hosts.
//
// The error is a *FitError when no host fits, a *NeedError when the need itself is invalid.
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
