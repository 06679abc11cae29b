package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/placement"
)

func perHost(placed []placement.Candidate) map[string]int {
	n := map[string]int{}
	for _, c := range placed {
		n[c.HostID]++
	}
	return n
}

// VMs that are placed at the same moment see the same hosts; the tie-break
// keeps them from running to one of them.
func TestEqualHostsDoNotHerd(t *testing.T) {
	t.Parallel()
	var hosts []placement.Host
	for i := range 10 {
		hosts = append(hosts, lxd(fmt.Sprint(i), "az1"))
	}
	var placed []placement.Candidate
	for i := range 1000 {
		placed = append(placed, bestCandidate(t, hosts, smallNeed(func(n *placement.Need) { n.Key = fmt.Sprintf("team/web-%d", i) })))
	}
	for id, n := range perHost(placed) {
		if n < 60 || n > 140 { // 100 ± 4 standard deviations
			t.Errorf("%d of 1000 VMs on host %s, want about 100", n, id)
		}
	}
	if n := len(perHost(placed)); n != 10 {
		t.Errorf("%d of 10 hosts were chosen", n)
	}
}

func TestOrderOfHostsDoesNotMatter(t *testing.T) {
	t.Parallel()
	var hosts []placement.Host
	for i := range 12 {
		hosts = append(hosts, lxd(fmt.Sprint(i), fmt.Sprintf("az%d", i%3), usedCores(int64(i%2)*4)))
	}
	want, err := placement.FindCandidates(hosts, smallNeed())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		shuffled := slices.Clone(hosts)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got, err := placement.FindCandidates(shuffled, smallNeed())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v\n-want +got:\n%s", err, diff)
		}
	}
}
