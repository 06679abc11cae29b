package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&MaasCluster{}, &MaasClusterList{},
		&MaasClusterTemplate{}, &MaasClusterTemplateList{},
		&MaasMachine{}, &MaasMachineList{},
		&MaasMachineTemplate{}, &MaasMachineTemplateList{},
		&MaasClusterIdentity{}, &MaasClusterIdentityList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
