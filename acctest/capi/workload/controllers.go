package workload

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reportNodeReady sets whether a node's kubelet reports. A deleted node stays
// deleted.
func (c *Cluster) reportNodeReady(ctx context.Context, node string, ready bool) error {
	n := &corev1.Node{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
		return client.IgnoreNotFound(err)
	}
	if isReady(n) == ready {
		return nil // the time of the last change says how long a node has been dead
	}
	before := n.DeepCopy()
	setReady(n, ready)
	return client.IgnoreNotFound(c.client.Patch(ctx, n, client.MergeFrom(before)))
}

// runControllers does what controllers of the cluster would do. Pods are
// deleted with their node, and the remaining etcds have a leader.
func (c *Cluster) runControllers(ctx context.Context) error {
	if err := c.deleteOrphanedPods(ctx); err != nil {
		return err
	}
	return c.electEtcdLeader(ctx)
}

// deleteOrphanedPods deletes the pods whose nodes are gone.
func (c *Cluster) deleteOrphanedPods(ctx context.Context) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	pods, err := listObjects[corev1.Pod](ctx, c.client, "Pod", client.InNamespace(metav1.NamespaceSystem))
	if err != nil {
		return err
	}
	for i := range pods {
		p := &pods[i]
		here := func(n corev1.Node) bool { return n.Name == p.Spec.NodeName }
		if slices.ContainsFunc(nodes, here) || c.isEtcdRunning(p.Spec.NodeName) {
			continue
		}
		if err := c.client.Delete(ctx, p); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// isEtcdRunning reports whether the etcd of a node runs.
func (c *Cluster) isEtcdRunning(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.etcdNodes, node)
}

// electEtcdLeader makes a running etcd the leader where the leader does not
// run. The leader is the etcd that became it last.
func (c *Cluster) electEtcdLeader(ctx context.Context) error {
	members, err := c.etcdPods(ctx)
	if err != nil {
		return err
	}
	var leader, next *corev1.Pod
	var since time.Time
	for i := range members {
		m := &members[i]
		if from, err := time.Parse(time.RFC3339, m.Annotations[cloudv1.EtcdLeaderFromAnnotationName]); err == nil && from.After(since) {
			leader, since = m, from
		}
		if c.isEtcdRunning(m.Spec.NodeName) {
			next = m
		}
	}
	if next == nil || leader != nil && c.isEtcdRunning(leader.Spec.NodeName) {
		return nil
	}
	before := next.DeepCopy()
	from := time.Now()
	if !from.After(since.Add(time.Second)) {
		from = since.Add(time.Second) // the times have whole seconds only
	}
	next.Annotations[cloudv1.EtcdLeaderFromAnnotationName] = from.Format(time.RFC3339)
	return client.IgnoreNotFound(c.client.Patch(ctx, next, client.MergeFrom(before)))
}
