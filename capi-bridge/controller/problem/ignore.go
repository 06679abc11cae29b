package problem

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// IgnoreConflict drops the error of a concurrent change: that change wakes us
// again.
func IgnoreConflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreGone drops the error of the last patch of an object that is gone with
// its finalizer.
func IgnoreGone(err error) error {
	var several kerrors.Aggregate
	if errors.As(err, &several) {
		return kerrors.FilterOut(several, apierrors.IsNotFound)
	}
	return client.IgnoreNotFound(err)
}
