// Package config holds what a cluster needs to run the bridge: definitions of
// the kinds, rights, webhooks and the manager's Deployment, put together by
// kustomize; and the templates that clusterctl makes clusters of. It has no
// code: the markers below say what the manager may do, and the definitions, the
// ClusterRoles and the webhooks are generated from markers ("make generate").
//
//	crd/         the kinds                  webhook/      what judges objects
//	rbac/        the manager's rights       certmanager/  the webhooks' certificate
//	manager/     its Deployment             default/      all of it, for all namespaces
//	templates/   clusters to be             namespaced/   all of it, for one namespace
//
// "make manifests" writes what a release ships into dist/, in a folder as clusterctl
// wants it, and clusterctl.yaml, by which clusterctl finds that.
package config

//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen object paths=../api/...
//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen crd output:crd:dir=crd/bases paths=../api/...
//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen webhook output:webhook:dir=webhook paths=../webhook/...
//go:generate go tool -modfile=../../acctest/tools/kube/go.mod controller-gen rbac:roleName=manager-role output:rbac:dir=rbac paths=.
//go:generate go test . -count=1 -run ^TestKindsPage$ -update-kinds

// What the manager may do in the namespaces that it serves. All that it writes to an
// object is a patch. It reads Secrets by name only: bootstrap data, credentials, and
// how to reach a workload cluster. Of kubeadm's control planes it reads which template
// their machines are from.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=maasclusters;maasmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=maasclusters/status;maasmachines/status;maasmachinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=maasmachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// What it may do that is in no namespace: read who may use which MAAS, and ask
// who is asking for its metrics.
//
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=infrastructure.cluster.x-k8s.io,resources=maasclusteridentities,verbs=get
// +kubebuilder:rbac:roleName=manager-cluster-role,groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
