package vm

import (
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// matchDisks finds the disk that belongs to each name. Of one size each is as
// good as the other, because a guest may count its disks in any order; what is
// left over is matched in order. A name with no disk is not in the result.
func matchDisks(disks map[string]diskModel, found []engine.MachineDisk) map[string]engine.MachineDisk {
	rest := slices.Clone(found)
	matched := map[string]engine.MachineDisk{}
	take := func(name string, i int) {
		matched[name] = rest[i]
		rest = slices.Delete(rest, i, i+1)
	}
	names := diskOrder(disks)
	for _, name := range names {
		i := slices.IndexFunc(rest, func(d engine.MachineDisk) bool { return fits(disks[name], d) })
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

// fits tells whether a disk is as it is declared.
func fits(d diskModel, found engine.MachineDisk) bool {
	pool := d.Pool.ValueString()
	return d.SizeGB.ValueInt64() == found.SizeGB && (pool == "" || found.Pool == "" || pool == found.Pool)
}

// matchInterfaces finds the interface that belongs to each label: by MAC
// address once one is known, before that by order.
func matchInterfaces(interfaces map[string]interfaceModel, found []engine.MachineInterface) map[string]engine.MachineInterface {
	rest := slices.Clone(found)
	matched := map[string]engine.MachineInterface{}
	var fresh []string
	for _, label := range interfaceOrder(interfaces) {
		mac := interfaces[label].MACAddress.ValueString()
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
