package cluster

import (
	"context"

	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
)

// noteRegion writes down which MAAS the cluster is in. A cluster whose MAAS
// user may not make tags works without a mark.
func (s *scope) noteRegion(ctx context.Context) {
	if s.maasCluster.Annotations[controller.RegionAnnotation] != "" && s.maasCluster.Annotations[infrav1.AcceptMAASAnnotation] == "" {
		return
	}
	mark, err := s.site.RegionMarks.MakeRegionMark(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(4).Info("cannot mark the MAAS", "error", err.Error())
		return
	}
	annotations.AddAnnotations(s.maasCluster, map[string]string{controller.RegionAnnotation: mark})
	delete(s.maasCluster.Annotations, infrav1.AcceptMAASAnnotation) // the annotation was for this change only
}
