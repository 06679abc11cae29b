package provider

import (
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var ownerPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ownerNameValidator passes names of owners.
func ownerNameValidator() validator.String {
	return stringvalidator.RegexMatches(ownerPattern, "must be 1 to 64 letters, digits, dots, hyphens and underscores")
}

// durationValidator passes durations such as "90s" within the bounds.
func durationValidator(shortest, longest time.Duration) validator.String {
	about := fmt.Sprintf("a duration from %s to %s", shortest, longest)
	return values.StringRule(about, func(s string) string {
		if d, err := time.ParseDuration(s); err != nil || d < shortest || d > longest {
			return fmt.Sprintf("%q is not %s. Write a number and a unit: \"500ms\", \"90s\", \"2m\".", s, about)
		}
		return ""
	})
}
