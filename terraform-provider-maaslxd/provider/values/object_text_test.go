package values

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestObjectText: a message never has an empty name, or a name twice.
func TestObjectText(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason      string
		name, id    types.String
		short, long string
	}{
		"Both":     {"A refresh knows both.", types.StringValue("web-1"), types.StringValue("4y3h7n"), "VM web-1", "VM web-1 (4y3h7n)"},
		"Imported": {"An import knows only the id.", types.StringNull(), types.StringValue("4y3h7n"), "VM 4y3h7n", "VM 4y3h7n"},
		"Moved":    {"A moved state has only the name.", types.StringValue("web-1"), types.StringNull(), "VM web-1", "VM web-1"},
		"Unknown":  {"An unknown name is none.", types.StringUnknown(), types.StringValue("4y3h7n"), "VM 4y3h7n", "VM 4y3h7n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if short, long := ObjectText("VM", tc.name, tc.id); short != tc.short || long != tc.long {
				t.Errorf("%s\ngot %q and %q, want %q and %q", tc.reason, short, long, tc.short, tc.long)
			}
		})
	}
}
