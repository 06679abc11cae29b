// Package programs builds the programs that tests of the Cluster API bridge
// need: etcd, Kubernetes' API server and controller manager, Cluster API's
// managers and clusterctl, and the generators of manifests.
//
// Their sources are the Go modules that acctest/tools/kube names, so a machine
// with only Go can run everything. Built programs are kept below .tools by the
// hash of that module's files, and are built again only when the files change.
// No release contains them.
package programs

import (
	"fmt"
	"slices"
	"strings"
)

// The names of the programs, for Build and Bin.Path.
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

// program says how to build a program.
type program struct {
	name    string
	pkg     string // the main package
	module  string // the module that has the version
	version string // the package with the version's variable; empty: none
}

const (
	kubeVersionPackage = "k8s.io/component-base/version"
	capiVersionPackage = "sigs.k8s.io/cluster-api/version"
	capiModule         = "sigs.k8s.io/cluster-api"
	kubeModule         = "k8s.io/kubernetes"
)

// allPrograms are the programs in the order in which they are built. Those that
// most tests need come first.
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

// choosePrograms returns the programs of those names, in the order in which
// they are built.
func choosePrograms(names []string) ([]program, error) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("no program has the name %q; the names are %s", name, strings.Join(Names(), ", "))
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

// linkFlags leaves the debugging tables out, and sets the version.
// kube-apiserver tells its version to clients, and Cluster API's managers
// refuse a cluster without one.
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
