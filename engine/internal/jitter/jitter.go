// Package jitter is the random part of pauses. Tests of the engine's packages make it
// repeatable.
package jitter

import (
	"math/rand/v2"
	"time"
)

// RandomPause is a random pause of at least zero and less than most.
var RandomPause = rand.N[time.Duration]
