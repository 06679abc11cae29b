package e2e

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// upgrade makes Cluster API replace all machines with ones of another version's
// image.
func (c cluster) upgrade(to string) {
	c.t.Helper()
	c.replaceTemplates(to, to, func(s *infrav1.MaasMachineSpec) { s.Image = imageName(to) })
}

// replaceTemplates makes Cluster API replace all machines with ones from other
// templates. If version is not empty, they also have that version.
func (c cluster) replaceTemplates(version, suffix string, edit func(*infrav1.MaasMachineSpec)) {
	c.t.Helper()
	kcp := &controlplanev1.KubeadmControlPlane{}
	c.getObject(c.t.Context(), c.name+"-control-plane", kcp)
	before := kcp.DeepCopy()
	if version != "" {
		kcp.Spec.Version = version
	}
	kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = c.newTemplate(kcp.Name, suffix, edit)
	if err := c.Patch(c.t.Context(), kcp, client.MergeFrom(before)); err != nil {
		c.t.Fatal(err)
	}
	c.replaceWorkersTemplate(version, suffix, edit)
}

// replaceWorkersTemplate does the same for the workers alone.
func (c cluster) replaceWorkersTemplate(version, suffix string, edit func(*infrav1.MaasMachineSpec)) {
	c.t.Helper()
	workers := &clusterv1.MachineDeployment{}
	c.getObject(c.t.Context(), c.name+"-workers", workers)
	before := workers.DeepCopy()
	if version != "" {
		workers.Spec.Template.Spec.Version = version
	}
	workers.Spec.Template.Spec.InfrastructureRef.Name = c.newTemplate(workers.Name, suffix, edit)
	if err := c.Patch(c.t.Context(), workers, client.MergeFrom(before)); err != nil {
		c.t.Fatal(err)
	}
}

// newTemplate makes a copy of a template with some changed fields, and returns
// its name.
func (c cluster) newTemplate(like, suffix string, edit func(*infrav1.MaasMachineSpec)) string {
	c.t.Helper()
	template := &infrav1.MaasMachineTemplate{}
	c.getObject(c.t.Context(), like, template)
	template.ObjectMeta = metav1.ObjectMeta{Namespace: c.name, Name: like + "-" + suffix}
	edit(&template.Spec.Template.Spec)
	c.createObjects(c.t, template)
	return template.Name
}
