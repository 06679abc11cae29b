package problem

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// IgnoreConflict lets a change pass that came in between: it wakes us.
func IgnoreConflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreGone lets the last patch of an object pass that its own finalizer let go.
func IgnoreGone(err error) error {
	var several kerrors.Aggregate
	if errors.As(err, &several) {
		return kerrors.FilterOut(several, apierrors.IsNotFound)
	}
	return client.IgnoreNotFound(err)
}
