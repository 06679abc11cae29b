package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestControllersCleanUp: etcd has a running leader as long as one member runs. Pods outlive
// their machine, but not their node.
func TestControllersCleanUp(t *testing.T) {
	t.Parallel()
	c := newClusterOfTwo(t)
	tidy := func(want string) {
		t.Helper()
		if err := c.runControllers(t.Context()); err != nil {
			t.Fatal(err)
		}
		members, err := c.etcdPods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leader, since := "", ""
		for _, m := range members {
			if from := m.Annotations[cloudv1.EtcdLeaderFromAnnotationName]; from > since {
				leader, since = m.Spec.NodeName, from
			}
		}
		if leader != want {
			t.Errorf("the leader is %q, want %q", leader, want)
		}
	}
	pods := func(want int) {
		t.Helper()
		have, err := listObjects[corev1.Pod](t.Context(), c.client, "Pod")
		if err != nil {
			t.Fatal(err)
		}
		if len(have) != want {
			t.Errorf("%d pods, want %d", len(have), want)
		}
	}
	tidy("a")
	c.setEtcdMember("a", false)
	tidy("b")
	pods(8) // the API server does not know that a machine is off
	if err := c.client.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	tidy("b")
	pods(4)
}

// TestReportAgain: a repeated report keeps the time of the last change. Others
// use that time to judge how long a node has been dead.
func TestReportAgain(t *testing.T) {
	t.Parallel()
	c := newClusterOfTwo(t)
	reported := func() string {
		t.Helper()
		n := &corev1.Node{}
		if err := c.reportNodeReady(t.Context(), "a", false); err != nil {
			t.Fatal(err)
		}
		if err := c.client.Get(t.Context(), client.ObjectKey{Name: "a"}, n); err != nil {
			t.Fatal(err)
		}
		if isReady(n) {
			t.Error("the node is ready, although its machine is off")
		}
		return n.ResourceVersion
	}
	if first, again := reported(), reported(); first != again {
		t.Errorf("the node changed from version %s to %s, although nothing did", first, again)
	}
}

// newClusterOfTwo is a cluster with the control planes a, the leader, and b.
func newClusterOfTwo(t *testing.T) *Cluster {
	t.Helper()
	memory, err := newMemory()
	if err != nil {
		t.Fatal(err)
	}
	if err := memory.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(memory, plan{endpoint: endpoint, version: "v1.36.2", files: filesOf(newAuthorities(t))})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.createInitialObjects(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"a", "b"} {
		p := plan{controlPlane: true, node: registration{Name: node}}
		if err := c.registerNode(t.Context(), p, "v1.36.2", "127.0.0.1"); err != nil {
			t.Fatal(err)
		}
		c.setEtcdMember(node, true)
	}
	return c
}
