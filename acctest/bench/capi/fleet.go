package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

const (
	// namespace holds all clusters.
	namespace = metav1.NamespaceDefault
	// machinesEach is how many machines a cluster has. controlPlanes is how
	// many of them serve its API.
	machinesEach, controlPlanes = 10, 3
)

func clusterName(cluster int) string { return fmt.Sprintf("c%d", cluster) }

// makeClusters makes clusters with their machines, as Cluster API does.
func (w *testBed) makeClusters(ctx context.Context, clusters int) error {
	for i := range clusters {
		name := clusterName(i)
		if err := w.makeCluster(ctx, name); err != nil {
			return fmt.Errorf("cannot make cluster %s: %w", name, err)
		}
		for n := range machinesEach {
			machine := fmt.Sprintf("%s-%d", name, n)
			if err := w.makeMachine(ctx, name, machine, n < controlPlanes); err != nil {
				return fmt.Errorf("cannot make machine %s: %w", machine, err)
			}
		}
	}
	return nil
}

// makeCluster makes a Cluster and the MaasCluster that it owns.
func (w *testBed) makeCluster(ctx context.Context, name string) error {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	cluster := &clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{InfrastructureRef: infrastructureRef("MaasCluster", name)}}
	cluster.Finalizers = []string{clusterv1.ClusterFinalizer}
	if err := w.client.Create(ctx, cluster); err != nil {
		return err
	}
	meta.Labels = map[string]string{clusterv1.ClusterNameLabel: name}
	meta.OwnerReferences = ownerReferences(cluster, clusterv1.ClusterKind)
	return w.client.Create(ctx, &infrav1.MaasCluster{ObjectMeta: meta, Spec: infrav1.MaasClusterSpec{DNSDomain: "maas"}})
}

// makeMachine makes a Machine with its bootstrap data, and its MaasMachine, a VM.
func (w *testBed) makeMachine(ctx context.Context, cluster, name string, controlPlane bool) error {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}
	meta.Labels[clusterv1.MachineDeploymentNameLabel] = cluster + "-workers"
	if controlPlane {
		delete(meta.Labels, clusterv1.MachineDeploymentNameLabel)
		meta.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	if err := w.client.Create(ctx, &corev1.Secret{
		ObjectMeta: meta, Type: clusterv1.ClusterSecretType,
		StringData: map[string]string{"value": "#cloud-config\nruncmd: [kubeadm join]\n", "format": "cloud-config"},
	}); err != nil {
		return err
	}
	machine := &clusterv1.Machine{ObjectMeta: meta, Spec: clusterv1.MachineSpec{
		ClusterName: cluster, Bootstrap: clusterv1.Bootstrap{DataSecretName: &name}, InfrastructureRef: infrastructureRef("MaasMachine", name),
	}}
	if err := w.client.Create(ctx, machine); err != nil {
		return err
	}
	meta.OwnerReferences = ownerReferences(machine, "Machine")
	return w.client.Create(ctx, &infrav1.MaasMachine{ObjectMeta: meta, Spec: infrav1.MaasMachineSpec{
		Image: "ubuntu/noble", ProvisioningMode: ptr.To(infrav1.ProvisioningModeLXD),
		MinCPU: ptr.To(vmCores), MinMemoryInMB: ptr.To(vmMemoryMiB), MinDiskSizeInGB: ptr.To(vmDiskGB),
	}})
}

func infrastructureRef(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
}

func ownerReferences(by client.Object, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: by.GetName(), UID: by.GetUID(), Controller: ptr.To(true),
	}}
}

// deleteMachines begins to delete all clusters. It deletes their machines
// first, as Cluster API does.
func (w *testBed) deleteMachines(ctx context.Context, clusters int) error {
	for i := range clusters {
		if err := w.client.Delete(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName(i)}}); err != nil {
			return err
		}
	}
	return w.client.DeleteAllOf(ctx, &infrav1.MaasMachine{}, client.InNamespace(namespace))
}

// deleteClusters deletes the MaasClusters after their machines are gone.
func (w *testBed) deleteClusters(ctx context.Context) error {
	return w.client.DeleteAllOf(ctx, &infrav1.MaasCluster{}, client.InNamespace(namespace))
}
