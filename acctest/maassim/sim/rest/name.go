package rest

import (
	"fmt"
	"strings"
)

// LabelProblem is MAAS's message about an invalid hostname (validators/hostname.py). A dot
// is allowed.
func LabelProblem(name string) string {
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case strings.Contains(label, "_"):
			return fmt.Sprintf("Host label cannot contain underscore: '%s'.", label)
		case label == "":
			return "Hostname contains empty name."
		case len(label) > 63:
			return fmt.Sprintf("Name is too long: '%s'.  Maximum length is 63.", label)
		case !IsValidLabel(label):
			return fmt.Sprintf("Invalid hostname: Label is invalid: '%s'.", label)
		}
	}
	return ""
}

// IsValidLabel tells whether the name is one label of letters, digits and
// hyphens.
func IsValidLabel(name string) bool {
	if name == "" || len(name) > 63 || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-') {
			return false
		}
	}
	return true
}

// InstanceNameProblem is LXD's message about an invalid instance name.
func InstanceNameProblem(name string) string {
	switch {
	case !IsValidLabel(name):
		return "Invalid instance name: Name can only contain alphanumeric and hyphen characters"
	case name[0] >= '0' && name[0] <= '9':
		return "Invalid instance name: Name must not start with a number"
	}
	return ""
}
