package driver

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/boot"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// maasProject is the configuration with which MAAS makes its project (drivers/pod/lxd.py,
// LXD_MAAS_PROJECT_CONFIG).
var maasProject = map[string]string{
	"features.images": "false", "features.profiles": "true", "features.storage.volumes": "false",
}

// BorrowHost gives a host of the model a real LXD, if there is a lender.
func BorrowHost(w *world.World, l *world.LXD, name, project, password string) error {
	if !canBorrow(w, l) {
		return nil
	}
	var bridges []world.LXDBridge
	for _, i := range l.HostInterfaces() {
		if i.Kind == "bridge" {
			bridges = append(bridges, world.LXDBridge{Name: i.Name, MAC: i.MAC})
		}
	}
	if err := borrowLXD(w, l, bridges); err != nil {
		return fmt.Errorf("host %s: %w", name, err)
	}
	root := map[string]map[string]any{"root": {"type": "disk", "path": "/", "pool": l.DefaultPool()}}
	err := LentTo(l).applyBoot(&boot.LXD{
		Projects: []string{project}, Config: map[string]map[string]string{"project " + project: maasProject},
		Profiles: map[string]map[string]map[string]any{"default/default": root}, Trusted: l.Trusted, Password: password,
	})
	if err != nil {
		return fmt.Errorf("host %s: %w", name, err)
	}
	return nil
}

// canBorrow tells whether a real LXD can stand in for the server: there is a lender, whose
// LXDs are amd64.
func canBorrow(w *world.World, l *world.LXD) bool {
	return w.Keeper.Lender != nil && l.Architecture == world.DefaultArchitecture
}

// BorrowMetal gives a machine that has run its user-data a real LXD with the wanted
// set-up, if there is a lender. Time passes meanwhile. It returns false if the machine has
// changed since.
func BorrowMetal(m *world.Machine, l *world.LXD, b *boot.LXD) bool {
	w := m.World
	if !canBorrow(w, l) {
		return true
	}
	w.Keeper.BeginHandler()
	defer w.Keeper.EndHandler()
	deployed := m.InstallationSet
	err := borrowLXD(w, l, bridgesOf(m))
	if err == nil {
		err = LentTo(l).applyBoot(b)
	}
	if err != nil {
		b.AddProblem("%v", err)
	}
	if err != nil || w.Ended || w.Machines[m.SystemID] != m || m.InstallationSet != deployed || m.Status != world.StatusDeployed {
		l.GiveBack()
		return false
	}
	return true
}

// bridgesOf are the bridges that MAAS configured on the machine.
func bridgesOf(m *world.Machine) (found []world.LXDBridge) {
	for _, n := range m.NICs {
		if n.Kind != "bridge" {
			continue
		}
		b := world.LXDBridge{Name: n.Name, MAC: n.MAC}
		for _, l := range n.Links {
			if l.IP != "" && l.Subnet != nil {
				b.Addresses = append(b.Addresses, fmt.Sprintf("%s/%d", l.IP, l.Subnet.CIDR.Bits()))
			}
		}
		found = append(found, b)
	}
	return found
}

// applyBoot makes the remaining objects in a real LXD. The order follows their
// dependencies.
func (r *Lent) applyBoot(b *boot.LXD) error {
	admin := r.admin
	for _, name := range b.Networks {
		put := rest.Object{"name": name, "type": "bridge", "config": b.Config["network "+name]}
		if err := ignoreExisting(admin.call(http.MethodPost, "/1.0/networks", put, nil)); err != nil {
			return fmt.Errorf("network %s: %w", name, err)
		}
	}
	for _, name := range b.Projects {
		if err := r.makeProject(name, b.Config["project "+name]); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Profiles)) {
		if err := r.makeProfile(key, b); err != nil {
			return fmt.Errorf("profile %s: %w", key, err)
		}
	}
	for _, t := range b.Trusted {
		if err := r.Trust(t); err != nil {
			return err
		}
	}
	config := map[string]string{"core.https_address": "[::]:" + daemon.Port}
	if b.Password != "" {
		config["core.trust_password"] = b.Password
	}
	return admin.call(http.MethodPatch, "/1.0", rest.Object{"config": config}, nil)
}

// MakeProject makes a project as MAAS does, unless it exists.
func (r *Lent) MakeProject(name string) error { return r.makeProject(name, maasProject) }

// makeProject makes a project unless it exists.
func (r *Lent) makeProject(name string, config map[string]string) error {
	if name == "default" {
		return nil
	}
	config = maps.Clone(config)
	description := config["description"]
	delete(config, "description")
	err := r.admin.call(http.MethodPost, "/1.0/projects", rest.Object{"name": name, "description": description, "config": config}, nil)
	if err := ignoreExisting(err); err != nil {
		return fmt.Errorf("project %s: %w", name, err)
	}
	return nil
}

// makeProfile makes a profile. Each project already has "default".
func (r *Lent) makeProfile(key string, b *boot.LXD) error {
	project, name, _ := strings.Cut(key, "/")
	devices := map[string]map[string]string{}
	for device, settings := range b.Profiles[key] {
		devices[device] = daemon.ConfigTexts(settings)
	}
	put := rest.Object{"name": name, "devices": devices, "config": b.Config["profile "+key]}
	if name == "default" {
		return r.admin.call(http.MethodPut, inProject("/1.0/profiles/default", project), put, nil)
	}
	return r.admin.call(http.MethodPost, inProject("/1.0/profiles", project), put, nil)
}

// ForeignVM is a VM that somebody makes in an LXD behind MAAS's back.
type ForeignVM struct {
	Project, Name string
	Cores         int
	MemoryMiB     int64
	Running       bool
	MACs          []string
}

// AddForeignVM makes a VM in a real LXD behind MAAS's back.
func AddForeignVM(w *world.World, l *world.LXD, i ForeignVM, subnets []*world.Subnet) error {
	l.EnsureProject(i.Project)
	vm := VM{
		Project: i.Project, Name: i.Name, Cores: strconv.Itoa(cmp.Or(i.Cores, 1)), Memory: fmt.Sprintf("%dMiB", cmp.Or(i.MemoryMiB, 2048)),
		Disks: []world.Volume{{SizeBytes: 8e9, Pool: l.DefaultPool()}}, macs: i.MACs,
	}
	for _, n := range subnets {
		vm.Bridges = append(vm.Bridges, l.InterfaceOn(n))
	}
	made, err := MakeVM(w, l, LentTo(l).admin, vm)
	if err != nil {
		return fmt.Errorf("cannot add instance %q: %w", i.Name, err)
	}
	made.SetRunning(i.Running)
	return nil
}
