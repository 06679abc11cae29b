package vm

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// moveRowToNewKey gives the row of a renamed VM its new key.
func (v *renameSteps) moveRowToNewKey(ctx context.Context, ref engine.Ref, group string, m engine.Machine) error {
	if ref.NewKey == "" || ref.NewKey == ref.Key {
		return nil
	}
	former, err := v.maker.Row(ctx, ref.Key)
	if err != nil {
		return err
	}
	if err := v.maker.BindVM(ctx, ref.NewKey, group, m); err != nil || former.SystemID != m.SystemID {
		return err
	}
	return v.Ledger.Drop(ctx, former)
}

// dropRowOfFormerName drops the row of a key whose VM now has another mark: the key's name is
// free for another VM.
func (v *renameSteps) dropRowOfFormerName(ctx context.Context, key engine.Key, m engine.Machine) error {
	row, err := v.maker.Row(ctx, key)
	if err != nil || row.Key == "" || row.SystemID != m.SystemID {
		return err
	}
	return v.Ledger.Drop(ctx, row)
}
