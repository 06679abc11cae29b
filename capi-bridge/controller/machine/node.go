package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/providerid"
)

// nodeLink sets the providerID of the machine's Node.
type nodeLink struct{ *scope }

// reconcile sets the providerID of the machine's Node, until the Machine has
// found the Node.
func (s nodeLink) reconcile(ctx context.Context, _ observation) time.Duration {
	if s.Workloads == nil || s.machine == nil {
		return 0
	}
	kind, id := infrav1.NodeProviderIDSetCondition, *s.MaasMachine.Spec.ProviderID
	state, err := s.ensureProviderID(ctx)
	switch {
	case err != nil:
		s.setFalse(kind, infrav1.WorkloadClusterUnreachableReason, problem.WithoutLocalPort(engine.ErrorText(err)))
	case state == nodeUnreachable:
		s.setFalse(kind, infrav1.WorkloadClusterUnreachableReason, "the API of the workload cluster cannot be reached yet")
	case state == nodeMissing:
		s.setFalse(kind, infrav1.NodeNotFoundReason, "no Node has the machine's name or one of its addresses yet")
	case state == nodeForeign:
		s.setFalse(kind, infrav1.NodeProviderIDDiffersReason, "the Node has another providerID than "+id+
			", and a providerID cannot change; let the kubelet set this one, or none, and delete the Machine")
		return requeue.WithJitter(requeue.ManualAfter)
	default:
		s.setTrue(kind, infrav1.NodeProviderIDSetReason, "")
		return 0
	}
	return s.requeueWhileNew(kind, s.currentTime(), requeue.NodeAfter)
}

// nodeState is the result of a search for a machine's Node.
type nodeState int

const (
	// nodeKnown: the Machine has its Node, or the Node has its providerID.
	nodeKnown nodeState = iota
	// nodeMissing: the workload cluster has no such Node yet.
	nodeMissing
	// nodeUnreachable: the workload cluster cannot be asked.
	nodeUnreachable
	// nodeForeign: the Node has another providerID.
	nodeForeign
)

// ensureProviderID sets the providerID of the machine's Node where it has none:
// a Machine finds its Node by it. It never changes an existing one.
func (s nodeLink) ensureProviderID(ctx context.Context) (nodeState, error) {
	id := s.MaasMachine.Spec.ProviderID
	if s.machine.Status.NodeRef.IsDefined() {
		return nodeKnown, nil // the Machine found its Node by the providerID
	}
	workload, err := s.Workloads.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
	switch {
	case errors.Is(err, clustercache.ErrClusterNotConnected):
		return nodeUnreachable, nil
	case err != nil:
		return nodeUnreachable, fmt.Errorf("cannot reach the API of the workload cluster: %w", err)
	}
	node, err := findNode(ctx, workload, s.MaasMachine)
	switch {
	case err != nil:
		return nodeMissing, fmt.Errorf("cannot look for the Node: %w", err)
	case node == nil:
		return nodeMissing, nil
	case node.Spec.ProviderID == *id:
		return nodeKnown, nil
	case node.Spec.ProviderID != "":
		return nodeForeign, nil
	}
	before := node.DeepCopy()
	node.Spec.ProviderID = *id
	if err := workload.Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return nodeMissing, fmt.Errorf("cannot set the providerID of Node %s: %w", node.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("set the providerID of a Node", "node", node.Name, "providerID", *id)
	return nodeKnown, nil
}

// findNode finds a machine's Node by its hostname, with its domain and without,
// else by an address. It returns nil if there is none yet.
func findNode(ctx context.Context, workload client.Client, m *infrav1.MaasMachine) (*corev1.Node, error) {
	for _, name := range nodeNames(m) {
		node := &corev1.Node{}
		err := workload.Get(ctx, client.ObjectKey{Name: name}, node)
		switch {
		case err == nil && isNodeOf(node, m):
			return node, nil
		case err != nil && !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	nodes := &corev1.NodeList{}
	if err := workload.List(ctx, nodes); err != nil {
		return nil, err
	}
	for i := range nodes.Items {
		if sharesAddress(&nodes.Items[i], m) {
			return &nodes.Items[i], nil
		}
	}
	return nil, nil
}

// isNodeOf reports whether a Node with the machine's name is its Node. It is
// not where it belongs to another machine, or has other addresses.
func isNodeOf(node *corev1.Node, m *infrav1.MaasMachine) bool {
	if node.Spec.ProviderID != "" {
		return namesMachine(node.Spec.ProviderID, m)
	}
	return len(nodeIPs(node)) == 0 || len(endpoint.InternalIPs(m)) == 0 || sharesAddress(node, m)
}

func namesMachine(providerID string, m *infrav1.MaasMachine) bool {
	have, err := providerid.Parse(providerID)
	return err == nil && have.SystemID == ownership.SystemIDOf(m)
}

func nodeNames(m *infrav1.MaasMachine) []string {
	var names []string
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineHostName || a.Type == clusterv1.MachineInternalDNS {
			names = append(names, a.Address)
		}
	}
	return names
}

func sharesAddress(node *corev1.Node, m *infrav1.MaasMachine) bool {
	mine := endpoint.InternalIPs(m)
	return slices.ContainsFunc(nodeIPs(node), func(ip string) bool { return slices.Contains(mine, ip) })
}

func nodeIPs(node *corev1.Node) []string {
	var all []string
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			all = append(all, a.Address)
		}
	}
	return all
}

// frequentRetryWindow is how long we look often for something that others must
// do.
const frequentRetryWindow = 10 * time.Minute
