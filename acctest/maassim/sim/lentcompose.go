package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// realVM is a VM as MAAS's driver asks LXD for it (drivers/pod/lxd.py,
// get_lxd_machine_definition).
type realVM struct {
	project, name string
	cores, memory string // limits.cpu and limits.memory
	hugepages     bool
	disks         []volume
	bridges, macs []string // of the NICs; a MAC may be empty
}

// definition is what is sent.
func (vm realVM) definition(profiles []string) object {
	devices := map[string]map[string]string{}
	for n, d := range vm.disks {
		name, device := "root", map[string]string{"type": "disk", "pool": d.pool, "path": "/", "boot.priority": "0", "size": strconv.FormatInt(d.sizeBytes, 10)}
		if n > 0 {
			name, device = "disk"+itoa(n), map[string]string{"type": "disk", "pool": d.pool, "path": "", "source": d.source}
		}
		devices[name] = device
	}
	for n, bridge := range vm.bridges {
		device := map[string]string{"type": "nic", "name": "eth" + itoa(n), "nictype": "bridged", "parent": bridge}
		if n == 0 {
			device["boot.priority"] = "1"
		}
		if n < len(vm.macs) {
			device["hwaddr"] = vm.macs[n]
		}
		devices["eth"+itoa(n)] = device
	}
	return object{
		"name": vm.name, "architecture": "x86_64", "type": vmType, "profiles": profiles, "devices": devices, "source": object{"type": "none"},
		"config": map[string]string{
			"limits.cpu": vm.cores, "limits.memory": vm.memory, "limits.memory.hugepages": strconv.FormatBool(vm.hugepages),
			"security.secureboot": "false",
		},
	}
}

// make creates the volumes, then the instance. Where that fails the volumes stay,
// as they do with MAAS.
func (vm realVM) make(c *lxdClient) error {
	for _, d := range vm.disks {
		if d.source == "" {
			continue
		}
		put := object{"name": d.source, "type": "custom", "content_type": "block", "config": object{"size": strconv.FormatInt(d.sizeBytes, 10)}}
		if err := c.do(http.MethodPost, inLXDProject("/1.0/storage-pools/"+d.pool+"/volumes/custom", vm.project), put, nil); err != nil {
			return err
		}
	}
	profiles := []string{}
	if c.do(http.MethodGet, inLXDProject("/1.0/profiles/maas", vm.project), nil, nil) == nil {
		profiles = append(profiles, "maas")
	}
	return c.do(http.MethodPost, inLXDProject("/1.0/instances", vm.project), vm.definition(profiles), nil)
}

// real is the VM that MAAS asks a real LXD for.
func (v *wantedVM) real(w *world, l *lxdServer) realVM {
	vm := realVM{
		project: v.host.bmc.project, name: v.hostname, cores: itoa(v.cores), memory: strconv.FormatInt(v.memoryMiB<<20, 10), hugepages: v.hugepages,
	}
	if len(v.pinned) > 0 {
		vm.cores = pinned(v.pinned)
	}
	for n, d := range v.disks {
		pool, _ := v.poolOf(l, d)
		disk := volume{sizeBytes: d.sizeBytes, pool: pool}
		if n > 0 {
			disk.source = "maas-" + newRandomUUID()
		}
		vm.disks = append(vm.disks, disk)
	}
	for _, n := range v.subnets(w) {
		vm.bridges = append(vm.bridges, l.interfaceOn(n))
	}
	return vm
}

// pinned is limits.cpu of pinned cores: of one it is a range, as a number alone
// is how many.
func pinned(cores []int) string {
	if len(cores) == 1 {
		return fmt.Sprintf("%d-%d", cores[0], cores[0])
	}
	var texts []string
	for _, core := range cores {
		texts = append(texts, itoa(core))
	}
	return strings.Join(texts, ",")
}

// composeReal asks a real LXD for a VM with the credentials of the VM host.
func (w *world) composeReal(v *wantedVM, l *lxdServer) (*instance, error) {
	c, err := l.lent.as(v.host.bmc)
	if err != nil {
		return nil, err
	}
	return w.makeVM(l, c, v.real(w, l))
}

// makeVM makes a VM in a real LXD, with time passing.
func (w *world) makeVM(l *lxdServer, c *lxdClient, vm realVM) (*instance, error) {
	w.sim.mu.Unlock()
	err := vm.make(c)
	w.sim.mu.Lock()
	if err != nil {
		return nil, err
	}
	l.look()
	i := l.projects[vm.project][vm.name]
	if i == nil {
		return nil, errors.New("Instance not found")
	}
	return i, nil
}
