package values

import (
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ListResults streams the results of a list resource, up to the limit of the request. If there
// is an error, it streams only that.
func ListResults[Object any](req list.ListRequest, found []Object, diags diag.Diagnostics, result func(Object) list.ListResult) iter.Seq[list.ListResult] {
	if diags.HasError() {
		return list.ListResultsStreamDiagnostics(diags)
	}
	if req.Limit > 0 && int64(len(found)) > req.Limit {
		found = found[:req.Limit]
	}
	return func(push func(list.ListResult) bool) {
		for _, object := range found {
			if !push(result(object)) {
				return
			}
		}
	}
}

// ListFilterText is a text in the filter of a list resource.
func ListFilterText(description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{NotEmpty()}}
}

// MatchesFilter tells whether an object is in the zone and the pool of a filter, and has all
// of its tags. A null value matches all.
func MatchesFilter(zone, pool types.String, tags types.List, hasZone, hasPool string, hasTags []string) bool {
	is := func(wanted types.String, have string) bool { return wanted.IsNull() || wanted.ValueString() == have }
	return is(zone, hasZone) && is(pool, hasPool) && len(Difference(SortedStrings(tags), hasTags)) == 0
}
