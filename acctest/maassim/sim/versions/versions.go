// Package versions names the simulated versions of MAAS in their order. The README of
// maassim lists the differences of their answers.
package versions

import "slices"

// The versions that a model can have.
const (
	V34 = "3.4"
	V35 = "3.5"
	V36 = "3.6"
	V37 = "3.7"
	V38 = "3.8"
	// WithoutVMHosts is MAAS's main branch, from which VM hosts were removed. MAAS still
	// calls it 3.8; the simulator calls it 4.0.
	WithoutVMHosts = "gone"
)

// orderedVersions are the versions, the oldest first, with full numbers. These were the
// newest releases when this was written (git tags of canonical/maas).
var orderedVersions = []struct{ version, number string }{
	{V34, "3.4.10"}, {V35, "3.5.13"}, {V36, "3.6.5"}, {V37, "3.7.3"}, {V38, "3.8.0"}, {WithoutVMHosts, "4.0.0"},
}

// Names lists the versions, the oldest first.
func Names() []string {
	var all []string
	for _, v := range orderedVersions {
		all = append(all, v.version)
	}
	return all
}

// IsKnown tells whether there is such a version.
func IsKnown(version string) bool { return slices.Contains(Names(), version) }

// FullNumber is the full number that a version reports, such as "3.4.10".
func FullNumber(version string) string {
	return orderedVersions[indexOf(version)].number
}

// IsAtLeast tells whether a version is another one or follows it.
func IsAtLeast(version, other string) bool { return indexOf(version) >= indexOf(other) }

func indexOf(version string) int { return max(0, slices.Index(Names(), version)) }
