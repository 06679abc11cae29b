package driver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// VM is the request for a VM that MAAS's driver sends to LXD (drivers/pod/lxd.py,
// get_lxd_machine_definition).
type VM struct {
	Project, Name string
	Cores, Memory string // limits.cpu and limits.memory
	Hugepages     bool
	Disks         []world.Volume
	Bridges, macs []string // of the NICs; a MAC may be empty
}

// definition is the body of the request.
func (vm VM) definition(profiles []string) rest.Object {
	devices := map[string]map[string]string{}
	for n, d := range vm.Disks {
		name, device := "root", map[string]string{"type": "disk", "pool": d.Pool, "path": "/", "boot.priority": "0", "size": strconv.FormatInt(d.SizeBytes, 10)}
		if n > 0 {
			name, device = "disk"+strconv.Itoa(n), map[string]string{"type": "disk", "pool": d.Pool, "path": "", "source": d.Source}
		}
		devices[name] = device
	}
	for n, bridge := range vm.Bridges {
		device := map[string]string{"type": "nic", "name": "eth" + strconv.Itoa(n), "nictype": "bridged", "parent": bridge}
		if n == 0 {
			device["boot.priority"] = "1"
		}
		if n < len(vm.macs) {
			device["hwaddr"] = vm.macs[n]
		}
		devices["eth"+strconv.Itoa(n)] = device
	}
	return rest.Object{
		"name": vm.Name, "architecture": "x86_64", "type": world.VMType, "profiles": profiles, "devices": devices, "source": rest.Object{"type": "none"},
		"config": map[string]string{
			"limits.cpu": vm.Cores, "limits.memory": vm.Memory, "limits.memory.hugepages": strconv.FormatBool(vm.Hugepages),
			"security.secureboot": "false",
		},
	}
}

// create makes the volumes, then the instance. If that fails the volumes stay, as with
// MAAS.
func (vm VM) create(c *client) error {
	for _, d := range vm.Disks {
		if d.Source == "" {
			continue
		}
		put := rest.Object{"name": d.Source, "type": "custom", "content_type": "block", "config": rest.Object{"size": strconv.FormatInt(d.SizeBytes, 10)}}
		if err := c.call(http.MethodPost, inProject("/1.0/storage-pools/"+d.Pool+"/volumes/custom", vm.Project), put, nil); err != nil {
			return err
		}
	}
	profiles := []string{}
	if c.call(http.MethodGet, inProject("/1.0/profiles/maas", vm.Project), nil, nil) == nil {
		profiles = append(profiles, "maas")
	}
	return c.call(http.MethodPost, inProject("/1.0/instances", vm.Project), vm.definition(profiles), nil)
}

// PinnedCores is limits.cpu for pinned cores. A single core is written as a range, because
// a plain number means a count.
func PinnedCores(cores []int) string {
	if len(cores) == 1 {
		return fmt.Sprintf("%d-%d", cores[0], cores[0])
	}
	var texts []string
	for _, core := range cores {
		texts = append(texts, strconv.Itoa(core))
	}
	return strings.Join(texts, ",")
}

// MakeVM makes a VM in a real LXD. Time passes meanwhile.
func MakeVM(w *world.World, l *world.LXD, c *client, vm VM) (*world.Instance, error) {
	w.Keeper.Unlock()
	err := vm.create(c)
	w.Keeper.Lock()
	if err != nil {
		return nil, err
	}
	l.SyncInstances()
	i := l.Projects[vm.Project][vm.Name]
	if i == nil {
		return nil, &lxdError{code: http.StatusNotFound, text: "Instance not found"}
	}
	return i, nil
}
