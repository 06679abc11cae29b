package daemon

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of LXD. Later numbers than the second do not change its behaviour
// here.
type Version struct{ Major, Minor int }

var (
	// LXD 6.1 removed core.trust_password. It answers 501 to any password.
	VersionWithoutPassword = Version{6, 1}
	// LXD 6.7 removed security.secureboot, which MAAS sends with each compose.
	VersionWithoutSecureBoot = Version{6, 7}
)

// ParseVersion reads "5.21.3" or "6.7".
func ParseVersion(text string) (v Version, err error) {
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if v.Major, err = strconv.Atoi(major); err == nil {
		v.Minor, err = strconv.Atoi(minor)
	}
	if err != nil {
		return v, fmt.Errorf(`%q is no version of LXD like "5.21.3"`, text)
	}
	return v, nil
}

// IsAtLeast tells whether a version is the given one or a later one.
func IsAtLeast(version string, v Version) bool {
	have, err := ParseVersion(version)
	return err == nil && (have.Major > v.Major || have.Major == v.Major && have.Minor >= v.Minor)
}
