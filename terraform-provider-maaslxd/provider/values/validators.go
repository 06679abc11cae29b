package values

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/engine"
)

// StringRule makes a validator of strings. Its description is a sentence, and its function
// returns the problem of a text with a way out, or "".
func StringRule(about string, wrong func(string) string) validator.String {
	return stringValidator{about, wrong}
}

type stringValidator struct {
	about     string
	problemOf func(string) string
}

func (r stringValidator) Description(context.Context) string { return r.about }

func (r stringValidator) MarkdownDescription(context.Context) string { return r.about }

func (r stringValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if wrong := r.problemOf(req.ConfigValue.ValueString()); wrong != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+req.Path.String(), wrong)
	}
}

var tagPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,256}$`)

// Tag passes the texts that MAAS accepts as tags.
func Tag() validator.String {
	return stringvalidator.RegexMatches(tagPattern, "must be 1 to 256 letters, digits, hyphens and underscores, as MAAS requires for tags")
}

// NotEmpty refuses "", which is not the same as no attribute.
func NotEmpty() validator.String {
	return StringRule("not empty", func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "It is empty. Give a name, or leave the attribute out."
		}
		return ""
	})
}

// UserDataSize refuses user-data that MAAS would not deliver.
func UserDataSize() validator.String {
	return StringRule(fmt.Sprintf("at most %d bytes", engine.MaxUserDataBytes), func(s string) string {
		if len(s) > engine.MaxUserDataBytes {
			return fmt.Sprintf("It has %d bytes, and MAAS safely takes at most %d. Put large files on a server and let cloud-init fetch them, for example with #include.",
				len(s), engine.MaxUserDataBytes)
		}
		return ""
	})
}

var objectNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// ObjectName passes names for the mark on a machine, and for paths in messages.
func ObjectName() validator.String {
	return stringvalidator.RegexMatches(objectNamePattern, "must be 1 to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or digit")
}

var labelPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// IsLabel tells whether a text may be the key of a disk or an interface.
func IsLabel(s string) bool { return labelPattern.MatchString(s) }

// Label passes the keys of disks and interfaces. They are only in the configuration and in
// messages.
func Label() validator.String {
	return stringvalidator.RegexMatches(labelPattern, "must be 1 to 32 lower-case letters, digits and hyphens, and begin with a letter or digit")
}
