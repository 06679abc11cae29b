// Package upkeep has the operations on what an operator keeps up: package
// repositories, sources of images, and notifications.
package upkeep

import (
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
)

// Routes are the operations on them.
func Routes() []request.Route {
	return slices.Concat(repositoryRoutes, bootSourceRoutes, selectionRoutes, notificationRoutes)
}
