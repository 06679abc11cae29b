package e2e

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// upgrade has all machines replaced by ones with an image of another version.
func (c cluster) upgrade(to string) {
	c.t.Helper()
	ctx := c.t.Context()
	kcp, workers := &controlplanev1.KubeadmControlPlane{}, &clusterv1.MachineDeployment{}
	c.get(ctx, c.name+"-control-plane", kcp)
	c.get(ctx, c.name+"-workers", workers)
	kcpBefore, workersBefore := kcp.DeepCopy(), workers.DeepCopy()
	kcp.Spec.Version, kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = to, c.newTemplate(kcp.Name, to)
	workers.Spec.Template.Spec.Version, workers.Spec.Template.Spec.InfrastructureRef.Name = to, c.newTemplate(workers.Name, to)
	for after, before := range map[client.Object]client.Object{kcp: kcpBefore, workers: workersBefore} {
		if err := c.Patch(ctx, after, client.MergeFrom(before)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// newTemplate makes a template like another one, with the version's image, and
// returns its name.
func (c cluster) newTemplate(like, version string) string {
	c.t.Helper()
	template := &infrav1.MaasMachineTemplate{}
	c.get(c.t.Context(), like, template)
	template.ObjectMeta = metav1.ObjectMeta{Namespace: c.name, Name: like + "-" + version}
	template.Spec.Template.Spec.Image = imageOf(version)
	c.create(c.t, template)
	return template.Name
}
