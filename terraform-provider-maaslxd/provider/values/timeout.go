package values

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
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
