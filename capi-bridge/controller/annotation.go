package controller

import (
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// UnprovenAnnotation is on a MaasMachine that came with its key: only its annotations
// say that the machine was made for it. It has the machine once that bears its mark. On
// a MaasCluster it says the same of the DNS record, which is the cluster's once it is
// seen to lead to nothing but the cluster's machines.
const UnprovenAnnotation = infrav1.AnnotationPrefix + "unproven"

// RegionAnnotation on a MaasCluster is the mark of the MAAS that it was made in.
const RegionAnnotation = infrav1.AnnotationPrefix + "region"
