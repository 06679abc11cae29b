package values

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// These are the providers whose states can be moved here. The one for MAAS was maas/maas up to
// 2.2.0.
var (
	ProvidersOfMAAS = []string{"canonical/maas", "maas/maas"}
	ProvidersOfLXD  = []string{"terraform-lxd/lxd"}
)

// ownProvider is this provider. OpenTofu names it as the source of all instances of a resource
// but the first one. Moving the first instance of a for_each makes the whole resource ours
// (seen with OpenTofu 1.12.6).
const ownProvider = "maaslxd/maaslxd"

// IsMoveFrom tells whether a state is of one of the providers, from any registry. The caller
// has checked the type of the source, which no resource of ours has.
func IsMoveFrom(req resource.MoveStateRequest, providers []string) bool {
	_, provider, found := strings.Cut(req.SourceProviderAddress, "/")
	return found && (provider == ownProvider || slices.Contains(providers, provider))
}

// MovedObjectText names the object of a moved state in messages, as far as its state can be read:
// "maas_instance (id 4y3h7n, web-1)".
func MovedObjectText(req resource.MoveStateRequest) string {
	var state map[string]any
	if req.SourceRawState == nil || json.Unmarshal(req.SourceRawState.JSON, &state) != nil {
		return req.SourceTypeName
	}
	var known []string
	if id := scalarText(state["id"]); id != "" {
		known = append(known, "id "+id)
	}
	if name := cmp.Or(scalarText(state["name"]), scalarText(state["hostname"])); name != "" {
		known = append(known, name)
	}
	if len(known) == 0 {
		return req.SourceTypeName
	}
	return req.SourceTypeName + " (" + strings.Join(known, ", ") + ")"
}

// scalarText is the text of a string or number in JSON, "" for others.
func scalarText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return ""
	}
}

// MovedStrings reads attributes of a moved state; a missing one is "". All versions of the
// other providers write schema version 0. In another version the same names may mean something
// else.
func MovedStrings(req resource.MoveStateRequest, names ...string) (map[string]string, error) {
	if req.SourceSchemaVersion != 0 {
		return nil, fmt.Errorf("its state has the schema version %d, and only 0 is known", req.SourceSchemaVersion)
	}
	if req.SourceRawState == nil {
		return nil, errors.New("it has no state")
	}
	attributes := map[string]tftypes.Type{}
	for _, name := range names {
		attributes[name] = tftypes.String
	}
	raw, err := req.SourceRawState.UnmarshalWithOpts(
		tftypes.Object{AttributeTypes: attributes},
		tfprotov6.UnmarshalOpts{ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true}},
	)
	var values map[string]tftypes.Value
	if err == nil {
		err = raw.As(&values)
	}
	if err != nil {
		return nil, errors.New("its state cannot be read")
	}
	texts := map[string]string{}
	for name, value := range values {
		var text *string
		if err := value.As(&text); err != nil {
			return nil, fmt.Errorf("its state does not say %s", name)
		}
		if text != nil {
			texts[name] = *text
		}
	}
	return texts, nil
}
