// Package programs builds the programs that tests of the Cluster API bridge
// run as they are: etcd, Kubernetes' API server and controller manager,
// Cluster API's managers and clusterctl, and what writes manifests.
//
// Their sources are the Go modules that acctest/tools/kube names, so a machine
// with nothing but Go can run everything. What was built is kept below .tools
// by the hash of that module's files, and built again only where they change.
// None of it is ever shipped.
package programs

import (
	"fmt"
	"slices"
	"strings"
)

// The programs, by the name that Build and Bin.Path take.
const (
	Etcd                  = "etcd"
	KubeAPIServer         = "kube-apiserver"
	KubeControllerManager = "kube-controller-manager"
	CoreManager           = "capi-core"
	BootstrapManager      = "capi-kubeadm-bootstrap"
	ControlPlaneManager   = "capi-kubeadm-control-plane"
	Clusterctl            = "clusterctl"
	ControllerGen         = "controller-gen"
	Kustomize             = "kustomize"
)

// program says how one is built.
type program struct {
	name    string
	pkg     string // the main package
	module  string // the module that the version is of
	version string // the package that holds the version; empty for none
}

const (
	kubeVersionPackage = "k8s.io/component-base/version"
	capiVersionPackage = "sigs.k8s.io/cluster-api/version"
	capiModule         = "sigs.k8s.io/cluster-api"
	kubeModule         = "k8s.io/kubernetes"
)

// allPrograms are the programs, in the order in which they are built: what most tests
// need comes first.
var allPrograms = []program{
	{Etcd, "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", ""},
	{KubeAPIServer, "k8s.io/kubernetes/cmd/kube-apiserver", kubeModule, kubeVersionPackage},
	{ControllerGen, "sigs.k8s.io/controller-tools/cmd/controller-gen", "sigs.k8s.io/controller-tools", ""},
	{Kustomize, "sigs.k8s.io/kustomize/kustomize/v5", "sigs.k8s.io/kustomize/kustomize/v5", ""},
	{KubeControllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager", kubeModule, kubeVersionPackage},
	{CoreManager, "sigs.k8s.io/cluster-api/core", capiModule, capiVersionPackage},
	{BootstrapManager, "sigs.k8s.io/cluster-api/bootstrap/kubeadm", capiModule, capiVersionPackage},
	{ControlPlaneManager, "sigs.k8s.io/cluster-api/controlplane/kubeadm", capiModule, capiVersionPackage},
	{Clusterctl, "sigs.k8s.io/cluster-api/cmd/clusterctl", capiModule, capiVersionPackage},
}

// Names are the names of all programs.
func Names() []string {
	var names []string
	for _, p := range allPrograms {
		names = append(names, p.name)
	}
	return names
}

// choosePrograms are the programs of those names, in the order in which they are built.
func choosePrograms(names []string) ([]program, error) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("no program is called %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	var chosen []program
	for _, p := range allPrograms {
		if slices.Contains(names, p.name) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// linkFlags leaves the debugging tables out, and writes the version in:
// kube-apiserver says it to its clients, and Cluster API's managers refuse a
// cluster that tells none.
func (p program) linkFlags(version string) string {
	flags := []string{"-s", "-w"}
	if p.version == "" {
		return strings.Join(flags, " ")
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	for name, value := range map[string]string{"gitVersion": version, "gitMajor": major, "gitMinor": minor} {
		flags = append(flags, fmt.Sprintf("-X %s.%s=%s", p.version, name, value))
	}
	slices.Sort(flags)
	return strings.Join(flags, " ")
}
