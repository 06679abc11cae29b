package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of all kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}

// AddToScheme makes the kinds of this package known to a scheme.
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
