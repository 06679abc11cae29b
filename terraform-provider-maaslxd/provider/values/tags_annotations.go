package values

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// Bounds of annotations only catch slips of the pen.
const (
	MaxAnnotations      = 100
	MaxAnnotationLength = 4096
)

// AnnotationKey passes keys that MAAS keeps, and that are none of ours.
func AnnotationKey() validator.String {
	return StringRule("a key of an annotation: 1 to 255 letters, digits, underscores, dots and hyphens", engine.AnnotationKeyProblem)
}

// DescriptionText passes texts that MAAS keeps, and that nobody takes for our mark.
func DescriptionText() validator.String {
	return StringRule("a text of at most 4096 characters, without marks of this provider", engine.DescriptionProblem)
}

// DeclaredAnnotations are those that are declared, nil if there are none.
func DeclaredAnnotations(declared types.Map) map[string]string {
	var out map[string]string
	for key, v := range declared.Elements() {
		if text, ok := v.(types.String); ok && IsSet(text) {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = text.ValueString()
		}
	}
	return out
}

// RemovedAnnotations are the keys that were declared before and are not now, sorted.
func RemovedAnnotations(before, now types.Map) []string {
	return Difference(slices.Sorted(maps.Keys(DeclaredAnnotations(before))), slices.Sorted(maps.Keys(DeclaredAnnotations(now))))
}

// UnionAnnotations are the declared annotations with those of before, so that all that may
// be on the machine stay known; null where neither declares any.
func UnionAnnotations(declared, before types.Map) types.Map {
	if declared.IsNull() {
		return before
	}
	all := maps.Clone(before.Elements())
	maps.Copy(all, declared.Elements())
	return types.MapValueMust(types.StringType, all)
}

// RefreshAnnotations are what the declared keys say on the machine. One that is gone is left
// out.
func RefreshAnnotations(declared types.Map, data map[string]string) types.Map {
	if declared.IsNull() {
		return declared
	}
	seen := map[string]attr.Value{}
	for key := range declared.Elements() {
		if value, has := data[key]; has {
			seen[key] = types.StringValue(value)
		}
	}
	return types.MapValueMust(types.StringType, seen)
}

// RefreshTags are those of the declared tags that are on the machine still.
func RefreshTags(declared types.Set, on []string) types.Set {
	if declared.IsNull() {
		return declared
	}
	kept := TagSet(slices.DeleteFunc(SortedStrings(declared), func(t string) bool { return !slices.Contains(on, t) }))
	if kept.IsNull() {
		return types.SetValueMust(types.StringType, nil)
	}
	return kept
}

// UnionTags are the declared tags with those of before; null where neither declares any.
func UnionTags(declared, before types.Set) types.Set {
	if declared.IsNull() && before.IsNull() {
		return before
	}
	had := SortedStrings(before)
	return TagSet(append(had, Difference(SortedStrings(declared), had)...))
}

// RefreshDescription is what people say in a machine's description. White space at the ends of
// a declared one, such as the last line feed of a heredoc, is no difference.
func RefreshDescription(declared types.String, description string) types.String {
	if text := engine.DescriptionText(description); declared.IsNull() || text != strings.TrimSpace(declared.ValueString()) {
		return types.StringValue(text)
	}
	return declared
}
