package controller

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// noRegionMark stands in AcceptMAASAnnotation for a MAAS without a mark.
const noRegionMark = "none"

// FindSite finds the MAAS of a cluster. It refuses another MAAS than the one
// that the cluster was made in: all of the cluster's machines would seem to be
// gone there.
func FindSite(ctx context.Context, sites Sites, maas *infrav1.MaasCluster) (*Site, error) {
	site, err := sites.Site(ctx, maas)
	known := maas.Annotations[RegionAnnotation]
	if err != nil || known == "" {
		return site, err
	}
	mark, err := site.RegionMarks.RegionMark(ctx)
	if err != nil || mark == known {
		return site, err
	}
	shown := cmp.Or(mark, noRegionMark)
	if maas.Annotations[infrav1.AcceptMAASAnnotation] == shown {
		return site, nil
	}
	return nil, &CredentialsError{
		Reason: infrav1.AnotherMAASReason, RecheckAfter: site.KeyRecheckAfter,
		Message: fmt.Sprintf("MaasCluster %s was made in another MAAS, with the mark %s; the credentials are for the MAAS with the mark %s",
			client.ObjectKeyFromObject(maas), known, shown),
		Hint: fmt.Sprintf("Change the identity to the former MAAS. If this is the same MAAS, restored or without its tag maaslxd-region, annotate the MaasCluster with %s=%s.",
			infrav1.AcceptMAASAnnotation, shown),
	}
}
