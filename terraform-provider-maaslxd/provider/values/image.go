package values

import (
	"path"
	"strings"
)

// SameImage tells whether two names mean one image: "noble" is
// "ubuntu/noble". An image that MAAS does not tell, "", differs from none.
func SameImage(a, b string) bool {
	if a == "" || b == "" || a == b {
		return true
	}
	return strings.Contains(a, "/") != strings.Contains(b, "/") && path.Base(a) == path.Base(b)
}
