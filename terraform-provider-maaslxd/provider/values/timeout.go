package values

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// WithTimeout applies a timeout of the configuration to a call.
func WithTimeout(
	ctx context.Context, read func(context.Context, time.Duration) (time.Duration, diag.Diagnostics),
	fallback time.Duration, diags *diag.Diagnostics,
) (context.Context, context.CancelFunc) {
	d, ds := read(ctx, fallback)
	diags.Append(ds...)
	return context.WithTimeout(ctx, d)
}

// minTimeout is the least time that MAAS may have to answer.
const minTimeout = time.Second

// Timeouts is the attribute timeouts. With a time that is over at once, no refresh would ever
// succeed again: a refresh takes it from the state.
func Timeouts(ctx context.Context, opts timeouts.Opts) schema.Attribute {
	set, ok := timeouts.Attributes(ctx, opts).(schema.SingleNestedAttribute)
	if !ok {
		panic("the attribute timeouts has no attributes") // the library has changed
	}
	for name, attribute := range set.Attributes {
		duration, ok := attribute.(schema.StringAttribute)
		if !ok {
			panic("timeouts." + name + " is no text") // the library has changed
		}
		duration.Validators = append(duration.Validators, stringValidator{"at least " + minTimeout.String(), shortTimeoutProblem})
		set.Attributes[name] = duration
	}
	return set
}

// shortTimeoutProblem says what is wrong with a duration that is too short. Another validator reports
// what is no duration.
func shortTimeoutProblem(duration string) string {
	if d, err := time.ParseDuration(duration); err == nil && d < minTimeout {
		return fmt.Sprintf("%q is too short. Give %s or more, such as 10m.", duration, minTimeout)
	}
	return ""
}
