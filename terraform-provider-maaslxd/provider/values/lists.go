package values

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// SortedStrings lists the known texts of a set or a list, sorted.
func SortedStrings(values interface{ Elements() []attr.Value }) []string {
	var out []string
	for _, e := range values.Elements() {
		if s, ok := e.(types.String); ok && IsSet(s) {
			out = append(out, s.ValueString())
		}
	}
	slices.Sort(out)
	return out
}

// StringList is a known list; it is empty rather than null.
func StringList(values []string) types.List {
	elems := make([]attr.Value, 0, len(values))
	for _, v := range values {
		elems = append(elems, types.StringValue(v))
	}
	return types.ListValueMust(types.StringType, elems)
}

// TagSet is a set of tags; null if there are none.
func TagSet(tags []string) types.Set {
	if len(tags) == 0 {
		return types.SetNull(types.StringType)
	}
	elems := make([]attr.Value, 0, len(tags))
	for _, t := range tags {
		elems = append(elems, types.StringValue(t))
	}
	return types.SetValueMust(types.StringType, elems)
}

// TagsOfMAAS are the tags that MAAS itself gives to VMs.
var TagsOfMAAS = []string{"virtual", "pod-console-logging"}

// Difference lists the texts in before that are not in now.
func Difference(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(t string) bool { return slices.Contains(now, t) })
}
