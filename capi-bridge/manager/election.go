package manager

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// election is this manager's part in the leader election.
type election struct {
	name  string // the manager's name, unique for each process
	lease client.ObjectKey
}

// joinElection joins the leader election under a name that the manager knows. A
// manager with a ledger in memory, or at a service, needs the name to ask
// whether it still leads. It returns nil where there is no election, or where
// the ledger is a file on a volume: only one pod has that.
func (o Options) joinElection(to *rest.Config, options *ctrl.Options) (*election, error) {
	if !o.LeaderElect || o.hasLedgerFile() {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("cannot tell the name of this host: %w", err)
	}
	e := &election{name: host + "_" + rand.Text(), lease: client.ObjectKey{Namespace: o.ManagerNamespace, Name: infrav1.LeaderElectionID}}
	config := rest.AddUserAgent(rest.CopyConfig(to), "leader-election")
	config.Timeout = max(o.RenewDeadline/2, o.RetryPeriod)
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for the election of a leader: %w", err)
	}
	options.LeaderElectionResourceLockInterface, err = resourcelock.New(resourcelock.LeasesResourceLock, e.lease.Namespace, e.lease.Name,
		api.CoreV1(), api.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: e.name})
	if err != nil {
		return nil, fmt.Errorf("cannot stand for leader: %w", err)
	}
	return e, nil
}

// newLeaderCheck returns a check that asks the API server who the leader is.
// The clock does not count: an expired lease that nobody has taken still
// belongs to this manager.
func (e *election) newLeaderCheck(api client.Reader) func(context.Context) error {
	return func(ctx context.Context) error {
		var lease coordinationv1.Lease
		if err := api.Get(ctx, e.lease, &lease); err != nil {
			return fmt.Errorf("cannot ask who the leader is: %w: %w", engine.ErrUnavailable, err)
		}
		if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != e.name {
			return fmt.Errorf("this manager is no longer the leader, %q is: %w", holder, engine.ErrBusy)
		}
		return nil
	}
}
