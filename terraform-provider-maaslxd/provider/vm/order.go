package vm

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// rootDiskName is the key of the disk that a VM boots from.
const rootDiskName = "root"

// diskOrder lists disk names as the VM sees them: root, then by name.
func diskOrder[T any](disks map[string]T) []string {
	names := slices.SortedFunc(maps.Keys(disks), natural)
	if i := slices.Index(names, rootDiskName); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, rootDiskName)
	}
	return names
}

// interfaceOrder lists interface labels as the VM sees them.
func interfaceOrder[T any](interfaces map[string]T) []string {
	return slices.SortedFunc(maps.Keys(interfaces), natural)
}

// natural compares names as people count: eth2 comes before eth10.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		var runX, runY string
		runX, x = cutRun(x)
		runY, y = cutRun(y)
		if c := compareRuns(runX, runY); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b)) // "1" and "01" are two names
}

// cutRun cuts off the digits, or the other characters, that a text begins with.
func cutRun(s string) (run, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return isDigit(r) != isDigit(rune(s[0])) })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// compareRuns compares two numbers, however long, by value, and other texts as
// texts.
func compareRuns(a, b string) int {
	if isDigit(rune(a[0])) && isDigit(rune(b[0])) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}
