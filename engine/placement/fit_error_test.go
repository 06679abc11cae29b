package placement_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/placement"
)

func TestFitErrorText(t *testing.T) {
	t.Parallel()
	full, silent := usedCores(15), func(h *placement.Host) { h.NeverReached = true }
	hosts := func(zone string, n int, edits ...func(*placement.Host)) []placement.Host {
		var hosts []placement.Host
		for i := range n {
			hosts = append(hosts, lxd(fmt.Sprintf("%s-%d-%d", zone, n, i), zone, edits...))
		}
		return hosts
	}
	cases := map[string]struct {
		reason string
		hosts  []placement.Host
		want   string
	}{
		"NoHosts": {
			reason: "No host was excluded, so there is no reason.",
			want:   "there is no VM host to place on",
		},
		"MostFrequentFirst": {
			reason: "The most frequent reason comes first, because you look at it first.",
			hosts:  slices.Concat(hosts("az1", 2, silent), hosts("az2", 3), hosts("az1", 7, full)),
			want:   "0/12 hosts fit: 7 too few cores, 3 wrong zone, 2 never reached",
		},
		"TiesInFilterOrder": {
			reason: "Reasons with equal counts keep the order of the filters.",
			hosts:  slices.Concat(hosts("az1", 1, full), hosts("az1", 1, silent), hosts("az2", 1)),
			want:   "0/3 hosts fit: 1 wrong zone, 1 never reached, 1 too few cores",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := placement.FindCandidates(tc.hosts, smallNeed(func(n *placement.Need) { n.Zone = "az1" }))
			if err == nil || err.Error() != tc.want {
				t.Errorf("%s\ngot  %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
}

func TestMisfitsAreSortedByName(t *testing.T) {
	t.Parallel()
	named := func(id, name string) placement.Host {
		return lxd(id, "az1", usedCores(16), func(h *placement.Host) { h.Name = name })
	}
	_, err := placement.FindCandidates([]placement.Host{named("2", "lxd1"), named("3", ""), named("1", "lxd2"), named("0", "lxd1")}, smallNeed())
	var misfit *placement.FitError
	if !errors.As(err, &misfit) {
		t.Fatalf("got %v, want a FitError", err)
	}
	var lines []string
	for _, m := range misfit.Rejections() {
		lines = append(lines, m.String())
	}
	want := []string{
		"3: too few cores: 2 cores needed, 0 of 16 free",
		"lxd1: too few cores: 2 cores needed, 0 of 16 free",
		"lxd1: too few cores: 2 cores needed, 0 of 16 free",
		"lxd2: too few cores: 2 cores needed, 0 of 16 free",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := misfit.Rejections()[1].HostID; got != "0" {
		t.Errorf("of two hosts of one name, %q comes first", got)
	}
}

func TestMayPassNeedsOneHost(t *testing.T) {
	t.Parallel()
	hosts := []placement.Host{lxd("a", "az2"), lxd("b", "az1", usedCores(16))}
	need := smallNeed(func(n *placement.Need) { n.Zone = "az1" })
	for want, hosts := range map[bool][]placement.Host{true: hosts, false: hosts[:1]} {
		_, err := placement.FindCandidates(hosts, need)
		var misfit *placement.FitError
		if !errors.As(err, &misfit) || misfit.IsTemporary() != want {
			t.Errorf("%d hosts: got %v, want MayPass %t", len(hosts), err, want)
		}
	}
}
