package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
	// uninitializedTaint is on nodes that wait for a cloud's controller.
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	etcdPod            = "etcd"
)

// staticPods are what the kubelet of a control plane runs besides etcd.
var staticPods = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// nodeObject is the node that the kubelet registers. It has a provider id only
// where the kubelet's arguments set one.
func (p *plan) nodeObject(version, ip string) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: p.node.Name, Labels: p.nodeLabels()},
		Spec:       corev1.NodeSpec{ProviderID: p.kubeletArg("provider-id"), Taints: p.nodeTaints()},
		Status: corev1.NodeStatus{
			NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: version, OperatingSystem: "linux", Architecture: "amd64"},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}, {Type: corev1.NodeHostName, Address: p.node.Name}},
		},
	}
	if p.controlPlane {
		n.Labels[controlPlaneLabel] = ""
	}
	setReady(n, true)
	return n
}

// nodeTaints are the taints of the configuration, or kubeadm's own where it has
// none.
func (p *plan) nodeTaints() (taints []corev1.Taint) {
	switch {
	case p.node.Taints != nil:
		taints = append(taints, *p.node.Taints...)
	case p.controlPlane:
		taints = append(taints, corev1.Taint{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule})
	}
	if p.kubeletArg("cloud-provider") == "external" {
		taints = append(taints, corev1.Taint{Key: uninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

// setReady sets the node's conditions: those of a kubelet that reports, or
// those of one that does not.
func setReady(n *corev1.Node, ready bool) {
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, good corev1.ConditionStatus, reason string) corev1.NodeCondition {
		if !ready {
			good, reason = corev1.ConditionUnknown, "NodeStatusUnknown"
		}
		return corev1.NodeCondition{Type: kind, Status: good, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	n.Status.Conditions = []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
	}
}

// isReady reports whether the node's kubelet reports.
func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// newStaticPod is a static pod as the API server shows it.
func newStaticPod(component, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: component + "-" + node,
			Labels: map[string]string{"component": component, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// createAll creates those objects that do not exist yet.
func (c *Cluster) createAll(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := c.client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("cannot create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// createInitialObjects creates what "kubeadm init" leaves in a cluster, as far
// as Cluster API reads it.
func (c *Cluster) createInitialObjects(ctx context.Context) error {
	var objects []client.Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespacePublic, metav1.NamespaceSystem} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}})
	}
	system := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}
	}
	runs := func(name, image string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}}}
	}
	const getNodes = "kubeadm:get-nodes"
	proxy := &appsv1.DaemonSet{ObjectMeta: system("kube-proxy"), Spec: appsv1.DaemonSetSpec{Template: runs("kube-proxy", "registry.k8s.io/kube-proxy:"+c.Version)}}
	proxy.Labels = map[string]string{"component": "kube-proxy"}
	objects = append(objects, proxy,
		&appsv1.Deployment{ObjectMeta: system("coredns"), Spec: appsv1.DeploymentSpec{Template: runs("coredns", "registry.k8s.io/coredns/coredns:v1.12.1")}},
		&corev1.ConfigMap{ObjectMeta: system("coredns"), Data: map[string]string{"Corefile": ".:53 {\n    errors\n}\n"}},
		&corev1.ConfigMap{ObjectMeta: system("kubeadm-config"), Data: map[string]string{"ClusterConfiguration": c.clusterConfig}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: getNodes}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: getNodes},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: getNodes},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:bootstrappers:kubeadm:default-node-token"}},
		},
	)
	return c.createAll(ctx, objects...)
}

// registerNode makes the node, and the pods of a control plane.
func (c *Cluster) registerNode(ctx context.Context, p plan, version, ip string) error {
	if p.controlPlane {
		member, err := c.newEtcdPod(ctx, p.node.Name)
		if err != nil {
			return err
		}
		pods := []client.Object{member}
		for _, component := range staticPods {
			pods = append(pods, newStaticPod(component, p.node.Name))
		}
		if err := c.createAll(ctx, pods...); err != nil {
			return err
		}
	}
	return c.createAll(ctx, p.nodeObject(version, ip))
}

// newEtcdPod is the pod of an etcd that joins the existing ones. The first one
// becomes the leader.
func (c *Cluster) newEtcdPod(ctx context.Context, node string) (*corev1.Pod, error) {
	members, err := c.etcdPods(ctx)
	if err != nil {
		return nil, err
	}
	member := newStaticPod(etcdPod, node)
	member.Annotations = map[string]string{cloudv1.EtcdMemberIDAnnotationName: newEtcdID(), cloudv1.EtcdClusterIDAnnotationName: newEtcdID()}
	if len(members) == 0 {
		member.Annotations[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
		return member, nil
	}
	member.Annotations[cloudv1.EtcdClusterIDAnnotationName] = members[0].Annotations[cloudv1.EtcdClusterIDAnnotationName]
	return member, nil
}

// newEtcdID is a random number for a new etcd.
func newEtcdID() string { return strconv.FormatUint(uint64(rand.Uint32())+1, 10) }

// etcdPods are the pods of the etcds that are members of their cluster.
func (c *Cluster) etcdPods(ctx context.Context) (members []corev1.Pod, err error) {
	pods, err := listObjects[corev1.Pod](ctx, c.client, "Pod", client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"component": etcdPod})
	if err != nil {
		return nil, err
	}
	for _, p := range pods {
		if _, removed := p.Annotations[cloudv1.EtcdMemberRemoved]; !removed {
			members = append(members, p)
		}
	}
	return members, nil
}
