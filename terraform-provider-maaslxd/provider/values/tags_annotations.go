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

// These bounds of annotations only catch typing errors.
const (
	MaxAnnotations      = 100
	MaxAnnotationLength = 4096
)

// AnnotationKey passes keys that MAAS accepts and that are not marks of this provider.
func AnnotationKey() validator.String {
	return StringRule("a key of an annotation: 1 to 255 letters, digits, underscores, dots and hyphens", engine.AnnotationKeyProblem)
}

// DescriptionText passes texts that MAAS accepts, and that do not look like our mark.
func DescriptionText() validator.String {
	return StringRule("a text of at most 4096 characters, without marks of this provider", engine.DescriptionProblem)
}

// DeclaredAnnotations are the declared annotations; nil if there are none.
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

// RemovedAnnotations are the keys that were declared before and no longer are, sorted.
func RemovedAnnotations(before, now types.Map) []string {
	return Difference(slices.Sorted(maps.Keys(DeclaredAnnotations(before))), slices.Sorted(maps.Keys(DeclaredAnnotations(now))))
}

// UnionAnnotations are the declared annotations and those of before, so that the state knows
// all that may be on the machine. It is null if neither declares any.
func UnionAnnotations(declared, before types.Map) types.Map {
	if declared.IsNull() {
		return before
	}
	all := maps.Clone(before.Elements())
	maps.Copy(all, declared.Elements())
	return types.MapValueMust(types.StringType, all)
}

// RefreshAnnotations are the declared keys with their values on the machine. A key that is
// gone is left out.
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

// RefreshTags are the declared tags that are still on the machine.
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

// UnionTags are the declared tags and those of before; null if neither declares any.
func UnionTags(declared, before types.Set) types.Set {
	if declared.IsNull() && before.IsNull() {
		return before
	}
	had := SortedStrings(before)
	return TagSet(append(had, Difference(SortedStrings(declared), had)...))
}

// RefreshDescription is the machine's description without our mark. White space at the ends of
// a declared one, such as the last line feed of a heredoc, is no difference.
func RefreshDescription(declared types.String, description string) types.String {
	if text := engine.DescriptionText(description); declared.IsNull() || text != strings.TrimSpace(declared.ValueString()) {
		return types.StringValue(text)
	}
	return declared
}
