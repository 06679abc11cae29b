package workload

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// farawaySite is a MAAS whose machines have addresses that this system does not
// have. At times it does not answer.
type farawaySite struct {
	Simulated
	unreachable atomic.Bool
}

// Machines fails while MAAS does not answer.
func (f *farawaySite) Machines(ctx context.Context) ([]sim.Machine, error) {
	if f.unreachable.Load() {
		return nil, errors.New("502 Bad Gateway")
	}
	all, err := f.Simulated.Machines(ctx)
	for n := range all {
		all[n].IPAddresses = []string{"192.0.2.7"}
	}
	return all, err
}

// Resolve knows the one endpoint.
func (f *farawaySite) Resolve(context.Context, string) ([]string, error) {
	return []string{"192.0.2.7"}, nil
}

// TestOtherNetwork reaches a cluster by its published name. Its machine has an
// address of another network. It lives on while MAAS cannot be asked, and ends
// with its machine.
func TestOtherNetwork(t *testing.T) {
	t.Parallel()
	o, made := newOperator(t, 1), newAuthorities(t)
	site := &farawaySite{Simulated: Simulated{o.sim}}
	w, err := StartMachines(t.Context(), Options{Site: site, Elsewhere: true, Interval: 20 * time.Millisecond, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	o.deployWithoutSwap("m1", initData(t, made))
	waitFor(t, "the cluster answers", func() bool {
		_, err := newAdministratorClient(t, w, made, true)
		return err == nil && len(w.Problems()) == 0
	})
	site.unreachable.Store(true)
	waitFor(t, "MAAS is missed", func() bool { return w.Problems()["MAAS"] != "" })
	if _, err := newAdministratorClient(t, w, made, true); err != nil || len(w.Clusters()) != 1 {
		t.Errorf("MAAS is away, and the cluster is gone: %v", err)
	}
	site.unreachable.Store(false)
	o.release("m1")
	waitFor(t, "the cluster is gone", func() bool { return len(w.Clusters()) == 0 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // no host of that network may answer
	defer cancel()
	if _, err := w.Dial(ctx, "tcp", endpoint); err == nil {
		t.Error("its endpoint answers still")
	}
}
