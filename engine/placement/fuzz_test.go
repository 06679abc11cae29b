package placement_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// FuzzPlacement places VMs on hosts, both of which are read from the bytes,
// and holds what placement promises against an account of its own (world):
// never over capacity, never on a host that is ruled out, a refusal only where
// nothing fits, the same answer for hosts in any order. The seeds run with every
// go test.
func FuzzPlacement(f *testing.F) {
	r := rand.New(rand.NewPCG(20, 26))
	for range 300 {
		seed := make([]byte, 100+r.IntN(500))
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &reader{data}
		w := world{hosts: in.hosts()}
		order := rand.New(rand.NewPCG(uint64(len(data)), 0))
		oneByOne(t, in, w.clone(), order)
	})
}

// oneByOne places VMs one after the other on the hosts, as the account has them.
func oneByOne(t *testing.T, in *reader, w world, order *rand.Rand) {
	for i := range 30 {
		need := in.need()
		need.Key = fmt.Sprint(i)
		before := w.clone()
		all, err := placement.FindCandidates(w.hosts, need)
		if !reflect.DeepEqual(before, w) {
			t.Fatalf("VM %d: hosts were changed, from %+v to %+v", i, before, w)
		}
		order.Shuffle(len(w.hosts), func(i, j int) { w.hosts[i], w.hosts[j] = w.hosts[j], w.hosts[i] })
		again, errAgain := placement.FindCandidates(w.hosts, need)
		if diff := cmp.Diff(all, again) + cmp.Diff(errText(err), errText(errAgain)); diff != "" {
			t.Fatalf("VM %d: another order of hosts, another answer:\n%s", i, diff)
		}
		w.wantFits(t, need, all)
		if err != nil {
			wantFitError(t, err, len(w.hosts))
			continue
		}
		wantShares(t, all[0])
		w.take(t, need, all[0])
	}
}

func wantShares(t *testing.T, c placement.Candidate) {
	t.Helper()
	if !(0 < c.AddedFullness && c.AddedFullness <= c.Fullness && c.Fullness <= 1) {
		t.Fatalf("a VM makes a host fuller by %g, to %g", c.AddedFullness, c.Fullness)
	}
}

func wantFitError(t *testing.T, err error, hosts int) {
	t.Helper()
	var misfit *placement.FitError
	if !errors.As(err, &misfit) {
		t.Fatalf("got %v, want a FitError", err)
	}
	if n := len(misfit.Rejections()); n != hosts {
		t.Fatalf("%d reasons for %d hosts: %v", n, hosts, misfit.Rejections())
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// reader reads small worlds from bytes; at their end it reads zeros.
type reader struct{ data []byte }

func (r *reader) byte() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// oneIn reads true once in n times.
func (r *reader) oneIn(n byte) bool { return r.byte()%n == n-1 }

func pickChoice[T any](r *reader, choices ...T) T { return choices[int(r.byte())%len(choices)] }

func (r *reader) hosts() []placement.Host {
	hosts := make([]placement.Host, int(r.byte())%10)
	for i := range hosts {
		hosts[i] = r.host(i)
	}
	return hosts
}

func (r *reader) host(i int) placement.Host {
	h := placement.Host{
		ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("lxd%d", i/2), Type: "lxd",
		Zone: pickChoice(r, "az1", "az2", "az3"), Pool: pickChoice(r, "default", "default", "prod"),
		Tags:             pickChoice(r, nil, []string{"ssd"}, []string{"gpu", "ssd"}),
		Networks:         pickChoice(r, []string{"lan"}, []string{"lan", "dmz"}),
		Cores:            placement.Amount{Total: int64(r.byte() % 33), Used: int64(r.byte() % 12)},
		MemoryMiB:        placement.Amount{Total: int64(r.byte()) * 256, Used: int64(r.byte()) * 64},
		HugePagesMiB:     placement.Amount{Total: int64(r.byte()%3) * 4096, Used: int64(r.byte()%3) * 1000},
		CPUOvercommit:    pickChoice(r, 1, 1, 2, 0.5, 1.1, 0),
		MemoryOvercommit: pickChoice(r, 1, 1, 1.3, 10),
		StoragePools: []placement.StoragePool{
			{Name: "local", TotalBytes: 200e9, FreeBytes: int64(r.byte()) * 777_777_777, Default: !r.oneIn(10)},
		},
		NeverReached: r.oneIn(12),
	}
	if r.oneIn(12) {
		h.UnusableReason = "made by another hand"
	}
	if r.oneIn(2) {
		h.StoragePools = append(h.StoragePools, placement.StoragePool{Name: "fast", FreeBytes: int64(r.byte()) * 1e9})
	}
	return h
}

func (r *reader) need() placement.Need {
	n := placement.Need{
		Zone: pickChoice(r, "", "", "", "az2"), Pool: pickChoice(r, "", "", "default"),
		Tags: pickChoice(r, nil, nil, []string{"ssd"}), Networks: pickChoice(r, nil, []string{"lan"}, []string{"dmz"}),
		Cores: int(r.byte()%8) + 1, MemoryMiB: int64(r.byte()%32)*128 + 1,
		PinnedCores: pickChoice(r, nil, nil, nil, []int{3, 1}),
		HugePages:   r.oneIn(6), Strategy: pickChoice(r, "", placement.Spread, placement.Pack),
	}
	for range r.byte() % 4 {
		n.Disks = append(n.Disks, placement.Disk{SizeGB: int64(r.byte()%40) + 1, Pool: pickChoice(r, "", "", "local", "fast")})
	}
	for range r.byte() % 3 {
		n.Excluded = append(n.Excluded, fmt.Sprintf("id%d", r.byte()%10))
	}
	return n
}

// world is the test's own account of the hosts.
type world struct{ hosts []placement.Host }

func (w world) clone() world {
	hosts := slices.Clone(w.hosts)
	for i := range hosts {
		hosts[i].StoragePools = slices.Clone(hosts[i].StoragePools)
	}
	return world{hosts}
}
