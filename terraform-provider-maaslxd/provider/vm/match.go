package vm

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// matchDisks finds the disk of each name. Disks of one size are interchangeable, because a
// guest may count them in any order. The remaining disks are matched in order. A name without
// a disk is not in the result.
func matchDisks(disks map[string]diskModel, found []engine.MachineDisk) map[string]engine.MachineDisk {
	rest := slices.Clone(found)
	matched := map[string]engine.MachineDisk{}
	take := func(name string, i int) {
		matched[name] = rest[i]
		rest = slices.Delete(rest, i, i+1)
	}
	names := diskOrder(disks)
	for _, name := range names {
		i := slices.IndexFunc(rest, func(d engine.MachineDisk) bool { return matchesDisk(disks[name], d) })
		if i >= 0 {
			take(name, i)
		}
	}
	for _, name := range names {
		if _, ok := matched[name]; !ok && len(rest) > 0 {
			take(name, 0)
		}
	}
	return matched
}

// matchesDisk tells whether a disk has the declared size and pool.
func matchesDisk(d diskModel, found engine.MachineDisk) bool {
	pool := d.Pool.ValueString()
	return d.SizeGB.ValueInt64() == found.SizeGB && (pool == "" || found.Pool == "" || pool == found.Pool)
}

// matchInterfaces finds the interface of each label: by MAC address if that is known,
// otherwise by order. An interface that was added to the VM is known by its label.
func matchInterfaces(interfaces map[string]interfaceModel, m engine.Machine) map[string]engine.MachineInterface {
	rest := interfacesMadeWith(m)
	matched := map[string]engine.MachineInterface{}
	var fresh []string
	for _, label := range interfaceOrder(interfaces) {
		mac := interfaces[label].MACAddress.ValueString()
		if nic, added := m.AddedNICs[label]; added && (mac == "" || mac == nic.MAC) {
			matched[label] = interfaceOfMAC(m, nic.MAC)
			continue
		}
		if mac == "" {
			fresh = append(fresh, label)
			continue
		}
		if i := slices.IndexFunc(rest, func(f engine.MachineInterface) bool { return f.MAC == mac }); i >= 0 {
			matched[label] = rest[i]
			rest = slices.Delete(rest, i, i+1)
		}
	}
	for n, label := range fresh {
		if n < len(rest) {
			matched[label] = rest[n]
		}
	}
	return matched
}

// rootDiskName is the key of the disk from which a VM boots.
const rootDiskName = "root"

// diskOrder lists disk names in the order in which the VM sees them: root, then by name.
func diskOrder[T any](disks map[string]T) []string {
	names := slices.SortedFunc(maps.Keys(disks), compareNatural)
	if i := slices.Index(names, rootDiskName); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, rootDiskName)
	}
	return names
}

// interfaceOrder lists interface labels in the order in which the VM sees them.
func interfaceOrder[T any](interfaces map[string]T) []string {
	return slices.SortedFunc(maps.Keys(interfaces), compareNatural)
}

// compareNatural compares names in natural order: eth2 comes before eth10.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		var runX, runY string
		runX, x = cutDigitRun(x)
		runY, y = cutDigitRun(y)
		if c := compareRuns(runX, runY); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b)) // "1" and "01" are two names
}

// cutDigitRun cuts off the digits, or the other characters, at the begin of a text.
func cutDigitRun(s string) (run, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return isDigit(r) != isDigit(rune(s[0])) })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// compareRuns compares two numbers of any length by value, and other texts as texts.
func compareRuns(a, b string) int {
	if isDigit(rune(a[0])) && isDigit(rune(b[0])) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}
