package values

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// PrivateReader reads the private state of a resource.
type PrivateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// PrivateWriter writes the private state of a resource.
type PrivateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}
