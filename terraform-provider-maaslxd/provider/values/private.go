package values

import (
	"context"
	"encoding/json"

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

// HasPrivateState tells whether an object had notes before this plan.
func HasPrivateState(ctx context.Context, private PrivateReader, key string) bool {
	raw, _ := private.GetKey(ctx, key)
	return len(raw) > 0
}

// ReadPrivateState reads the notes of an object, such as "VM host", besides its state. They
// are empty before the first apply.
func ReadPrivateState[T any](ctx context.Context, private PrivateReader, key, object string, diags *diag.Diagnostics) T {
	var n T
	raw, ds := private.GetKey(ctx, key)
	diags.Append(ds...)
	if len(raw) == 0 {
		return n
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		diags.AddError("Cannot read the private state of the "+object,
			err.Error()+"\n\nThis version of the provider did not write it. Remove the "+object+" from the state and import it.")
	}
	return n
}

// WritePrivateState writes the notes of an object.
func WritePrivateState[T any](ctx context.Context, private PrivateWriter, key, object string, n T, diags *diag.Diagnostics) {
	raw, err := json.Marshal(n)
	if err != nil {
		diags.AddError("Cannot write the private state of the "+object, err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, key, raw)...)
}
