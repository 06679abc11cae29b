// Package config holds what a cluster needs to run the bridge: definitions of
// the kinds, rights, webhooks and the manager's Deployment. kustomize puts them
// together. The package also holds the templates from which clusterctl makes
// clusters. It has no code. "make generate" generates the definitions, the
// ClusterRoles and the webhooks from markers; the markers below are the
// manager's rights.
//
//	crd/         the kinds                  webhook/      validation of objects
//	rbac/        the manager's rights       certmanager/  the webhooks' certificate
//	manager/     its Deployment             default/      all of it, for all namespaces
//	templates/   clusters to make           namespaced/   all of it, for one namespace
//
// "make manifests" writes the files of a release into dist/, in the folder
// layout of clusterctl. It also writes clusterctl.yaml, by which clusterctl
// finds them.
package config

//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen object paths=../api/...
//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen crd output:crd:dir=crd/bases paths=../api/...
//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen webhook output:webhook:dir=webhook paths=../webhook/...
//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen rbac:roleName=manager-role output:rbac:dir=rbac paths=.
//go:generate go test . -count=1 -run ^TestKindsPage$ -update-kinds

// The manager's rights in the namespaces that it serves. It writes to objects
// by patches only. It reads Secrets by name only: bootstrap data, credentials,
// and access to a workload cluster. Of a kubeadm control plane it reads which
// template its machines come from.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=maasclusters;maasmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=maasclusters/status;maasmachines/status;maasmachinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=maasmachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// The manager's rights outside namespaces. It reads who may use which MAAS, and
// checks who asks for its metrics.
//
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=infrastructure.cluster.x-k8s.io,resources=maasclusteridentities,verbs=get
// +kubebuilder:rbac:roleName=manager-cluster-role,groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
