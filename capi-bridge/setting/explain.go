package setting

import (
	"errors"

	"github.com/maaslxd/maaslxd/capi-bridge/advice"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// Problem is an error in a form for users.
type Problem struct {
	Message string
	Hint    string // the way out, may be empty
}

// ExplainError turns an error into messages for users: one Problem for each
// joined error.
func ExplainError(err error) []Problem {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Problem
		for _, each := range joined.Unwrap() {
			all = append(all, ExplainError(each)...)
		}
		return all
	}
	return []Problem{{Message: engine.ErrorText(err), Hint: findHint(err)}}
}

// findHint returns the hint of the error, or of an error that it wraps.
func findHint(err error) string {
	var (
		failure  *engine.Error
		refusal  *engine.Refusal
		spec     *engine.SpecError
		config   *api.ConfigError
		answered *api.Error
		usage    *UsageError
	)
	switch {
	case errors.As(err, &refusal):
		return advice.JoinHint(refusal.Hint, refusal.Ways)
	case errors.As(err, &failure):
		return advice.JoinHint(failure.Hint, failure.Ways)
	case errors.As(err, &spec):
		return advice.JoinHint(spec.Hint, spec.Ways)
	case errors.As(err, &config):
		return config.Hint
	case errors.Is(err, engine.ErrGone):
		return advice.NoVMHosts
	case errors.As(err, &answered):
		return answered.Hint
	case errors.As(err, &usage):
		return usage.Hint
	}
	return ""
}
