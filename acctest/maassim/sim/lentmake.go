package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maasProject is how MAAS makes the project that it is to use
// (drivers/pod/lxd.py, LXD_MAAS_PROJECT_CONFIG).
var maasProject = map[string]string{
	"features.images": "false", "features.profiles": "true", "features.storage.volumes": "false",
}

// borrowHost gives a host of the model a real LXD, where such are lent.
func (w *world) borrowHost(l *lxdServer, h HostModel) error {
	if w.sim.lender == nil {
		return nil
	}
	var bridges []LXDBridge
	for _, i := range l.interfaces() {
		if i.kind == "bridge" {
			bridges = append(bridges, LXDBridge{Name: i.name, MAC: i.mac})
		}
	}
	if err := w.lend(l, bridges); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	root := map[string]map[string]any{"root": {"type": "disk", "path": "/", "pool": l.defaultPool()}}
	err := l.furnishReal(&bootedLXD{
		projects: []string{h.Project}, config: map[string]map[string]string{"project " + h.Project: maasProject},
		profiles: map[string]map[string]map[string]any{"default/default": root}, trusted: l.trusted, password: h.TrustPassword,
	})
	if err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return nil
}

// borrowMetal gives a machine that has run its user-data a real LXD with what
// that asks for, where such are lent. Time passes; false says that the machine is
// not what it was.
func (m *machine) borrowMetal(l *lxdServer, b *bootedLXD) bool {
	w := m.w
	if w.sim.lender == nil {
		return true
	}
	w.sim.running++
	defer w.sim.ended()
	deployed := m.installing
	err := w.lend(l, m.bridges())
	if err == nil {
		err = l.furnishReal(b)
	}
	if err != nil {
		b.problem("%v", err)
	}
	if err != nil || w.ended || w.machines[m.systemID] != m || m.installing != deployed || m.status != StatusDeployed {
		l.giveBack()
		return false
	}
	return true
}

// bridges are those that MAAS has put on the machine.
func (m *machine) bridges() (found []LXDBridge) {
	for _, n := range m.nics {
		if n.kind != "bridge" {
			continue
		}
		b := LXDBridge{Name: n.name, MAC: n.mac}
		for _, l := range n.links {
			if l.ip != "" && l.subnet != nil {
				b.Addresses = append(b.Addresses, fmt.Sprintf("%s/%d", l.ip, l.subnet.cidr.Bits()))
			}
		}
		found = append(found, b)
	}
	return found
}

// furnishReal gives a real LXD the rest of what it is to be, in the order in
// which one thing needs another.
func (l *lxdServer) furnishReal(b *bootedLXD) error {
	admin := l.lent.admin
	for _, name := range b.networks {
		put := object{"name": name, "type": "bridge", "config": b.config["network "+name]}
		if err := existing(admin.do(http.MethodPost, "/1.0/networks", put, nil)); err != nil {
			return fmt.Errorf("network %s: %w", name, err)
		}
	}
	for _, name := range b.projects {
		if err := l.makeProject(name, b.config["project "+name]); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.profiles)) {
		if err := l.makeProfile(key, b); err != nil {
			return fmt.Errorf("profile %s: %w", key, err)
		}
	}
	for _, t := range b.trusted {
		if err := l.trustReal(t); err != nil {
			return err
		}
	}
	config := map[string]string{"core.https_address": "[::]:" + lxdPort}
	if b.password != "" {
		config["core.trust_password"] = b.password
	}
	return admin.do(http.MethodPatch, "/1.0", object{"config": config}, nil)
}

// makeProject makes a project that is not there.
func (l *lxdServer) makeProject(name string, config map[string]string) error {
	if name == "default" {
		return nil
	}
	config = maps.Clone(config)
	description := config["description"]
	delete(config, "description")
	err := l.lent.admin.do(http.MethodPost, "/1.0/projects", object{"name": name, "description": description, "config": config}, nil)
	if err := existing(err); err != nil {
		return fmt.Errorf("project %s: %w", name, err)
	}
	return nil
}

// makeProfile makes a profile; "default" is there in each project.
func (l *lxdServer) makeProfile(key string, b *bootedLXD) error {
	project, name, _ := strings.Cut(key, "/")
	devices := map[string]map[string]string{}
	for device, settings := range b.profiles[key] {
		devices[device] = texts(settings)
	}
	put := object{"name": name, "devices": devices, "config": b.config["profile "+key]}
	if name == "default" {
		return l.lent.admin.do(http.MethodPut, inLXDProject("/1.0/profiles/default", project), put, nil)
	}
	return l.lent.admin.do(http.MethodPost, inLXDProject("/1.0/profiles", project), put, nil)
}

// addReal makes a VM in a real LXD behind MAAS's back: see AddInstance.
func (w *world) addReal(l *lxdServer, i Instance, subnets []*subnet) error {
	l.ensureProject(i.Project)
	vm := realVM{
		project: i.Project, name: i.Name, cores: itoa(or(i.Cores, 1)), memory: fmt.Sprintf("%dMiB", or(i.MemoryMiB, 2048)),
		disks: []volume{{sizeBytes: 8e9, pool: l.defaultPool()}}, macs: i.MACs,
	}
	for _, n := range subnets {
		vm.bridges = append(vm.bridges, l.interfaceOn(n))
	}
	made, err := w.makeVM(l, l.lent.admin, vm)
	if err != nil {
		return fmt.Errorf("cannot add instance %q: %w", i.Name, err)
	}
	made.turn(i.Running)
	return nil
}
