package engine

import (
	"time"

	"github.com/maaslxd/maaslxd/engine/internal/jitter"
)

// Pauses depend on the clock alone, so that a story in virtual time can be told
// again.
func init() {
	jitter.RandomPause = func(most time.Duration) time.Duration {
		return time.Duration(uint64(time.Now().UnixNano()) * 0x9e3779b97f4a7c15 % uint64(most))
	}
}
