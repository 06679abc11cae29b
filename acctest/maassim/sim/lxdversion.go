package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// lxdVersion is a version of LXD as far as its behaviour depends on it.
type lxdVersion struct{ major, minor int }

var (
	// LXD 6.1 dropped core.trust_password: it answers 501 to any password.
	withoutPassword = lxdVersion{6, 1}
	// LXD 6.7 dropped security.secureboot, which MAAS sends with each compose.
	withoutSecureBoot = lxdVersion{6, 7}
)

// parseLXDVersion reads "5.21.3" or "6.7".
func parseLXDVersion(text string) (v lxdVersion, err error) {
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if v.major, err = strconv.Atoi(major); err == nil {
		v.minor, err = strconv.Atoi(minor)
	}
	if err != nil {
		return v, fmt.Errorf(`%q is no version of LXD like "5.21.3"`, text)
	}
	return v, nil
}

// since says whether the LXD is of that version or a later one.
func (l *lxdServer) since(v lxdVersion) bool {
	have, err := parseLXDVersion(l.version)
	return err == nil && (have.major > v.major || have.major == v.major && have.minor >= v.minor)
}
