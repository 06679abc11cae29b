// Package upkeep has the operations on package repositories, sources of images, and
// notifications.
package upkeep

import (
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
)

// Routes are the operations of this package.
func Routes() []request.Route {
	return slices.Concat(repositoryRoutes, bootSourceRoutes, selectionRoutes, notificationRoutes)
}
