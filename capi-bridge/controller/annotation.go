package controller

import (
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// UnprovenAnnotation is on a MaasMachine that arrived with its key already set.
// Only its annotations say that the machine was made for it. The object gets
// the machine once the machine bears its mark. On a MaasCluster the annotation
// says the same of the DNS record. The cluster gets the record once the record
// leads only to the cluster's machines.
const UnprovenAnnotation = infrav1.AnnotationPrefix + "unproven"

// RegionAnnotation on a MaasCluster is the mark of the MAAS that it was made in.
const RegionAnnotation = infrav1.AnnotationPrefix + "region"
