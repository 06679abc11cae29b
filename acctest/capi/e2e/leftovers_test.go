package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// kindsOfClusters are the kinds whose objects are deleted with their cluster.
var kindsOfClusters = []schema.GroupVersionKind{
	clusterv1.GroupVersion.WithKind("Cluster"),
	clusterv1.GroupVersion.WithKind("Machine"),
	clusterv1.GroupVersion.WithKind("MachineSet"),
	clusterv1.GroupVersion.WithKind("MachineDeployment"),
	clusterv1.GroupVersion.WithKind("MachineHealthCheck"),
	controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"),
	bootstrapv1.GroupVersion.WithKind("KubeadmConfig"),
	bootstrapv1.GroupVersion.WithKind("KubeadmConfigTemplate"),
	infrav1.GroupVersion.WithKind("MaasCluster"),
	infrav1.GroupVersion.WithKind("MaasMachine"),
	infrav1.GroupVersion.WithKind("MaasMachineTemplate"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
}

// leftObjects are the objects of the cluster that Kubernetes still has.
func (c cluster) leftObjects(ctx context.Context) (left []string) {
	for _, kind := range kindsOfClusters {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, all, client.InNamespace(c.name)); err != nil {
			c.t.Fatal(err)
		}
		for _, o := range all.Items {
			left = append(left, fmt.Sprintf("%s %s %v", o.GetKind(), o.GetName(), o.GetFinalizers()))
		}
	}
	return left
}

// inventory lists everything in MAAS and its LXDs that clusters use or may
// leave behind.
type inventory struct {
	Machines  []string // name, zone, pool, status, owner, image, marks
	Instances []string // host/project/name
	Hosts     []string // the VM hosts
	Names     []string // the DNS resources, with their addresses
	Addresses []string // reserved addresses
}

// readInventory reads MAAS. It uses the API where the simulator has no other
// way.
func (w *world) readInventory(t *testing.T) inventory {
	t.Helper()
	var seen inventory
	for _, m := range w.maas.Machines() {
		seen.Machines = append(seen.Machines, fmt.Sprintf("%s %s %s %s %q %q %q %v %v", m.Hostname, m.Zone, m.Pool, m.StatusName, m.Owner, m.Image, m.Description, m.Tags, m.OwnerData))
	}
	for _, i := range w.maas.Instances() {
		seen.Instances = append(seen.Instances, i.Host+"/"+i.Project+"/"+i.Name)
	}
	for _, h := range w.listFromMAAS(t, "vm-hosts/") {
		seen.Hosts = append(seen.Hosts, fmt.Sprint(h["name"]))
	}
	for _, r := range w.listFromMAAS(t, "dnsresources/") {
		seen.Names = append(seen.Names, fmt.Sprint(r["fqdn"], r["ip_addresses"]))
	}
	for _, a := range w.listFromMAAS(t, "ipaddresses/?all=true") {
		if a["alloc_type_name"] == "User reserved" {
			seen.Addresses = append(seen.Addresses, fmt.Sprint(a["ip"]))
		}
	}
	for _, each := range [][]string{seen.Machines, seen.Instances, seen.Hosts, seen.Names, seen.Addresses} {
		slices.Sort(each)
	}
	return seen
}

// listFromMAAS gets a list from MAAS's API.
func (w *world) listFromMAAS(t *testing.T, path string) (list []map[string]any) {
	t.Helper()
	if err := w.api.GetJSON(t.Context(), path, &list); err != nil {
		t.Fatal(err)
	}
	return list
}
