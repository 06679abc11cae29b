package lxd

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// Resize changes the cores, the memory and the disk sizes of a VM in place. It ignores the
// rest of the Composition: a VM with an unchanged number of cores keeps the cores that it
// is pinned to.
//
// On a running VM it changes only one number of cores into another; the guest may have to
// bring them online. For all other changes the VM must be stopped. Otherwise the error is
// an *engine.RunningError that names the changes.
//
// New disks come after the others. They are made and added even while the VM runs. A disk
// that would shrink or be removed is an *engine.SpecError.
//
// The caller checks that the host has room. MAAS shows the new size after the next
// commissioning.
func (c *Composer) Resize(ctx context.Context, host engine.VMHost, systemID string, comp engine.Composition) error {
	return changeInstance(ctx, c, host, systemID, func(s *session, at location) ([]string, error) {
		return s.resizeInstance(ctx, host, at, comp, formatBirthTime(c.Now()))
	})
}

// ConfigureInstance implements engine.Composer.
func (c *Composer) ConfigureInstance(ctx context.Context, host engine.VMHost, systemID string, want engine.InstanceChange) error {
	return changeInstance(ctx, c, host, systemID, func(s *session, at location) ([]string, error) { return configureInstance(s, at, want) })
}

// changeInstance finds the instance of a machine and calls change, which returns
// descriptions of its changes. If the instance has moved to another host, it is changed
// there.
func changeInstance(ctx context.Context, c *Composer, host engine.VMHost, systemID string, change func(*session, location) ([]string, error)) error {
	m, err := c.Machines.Machine(ctx, systemID)
	if err != nil {
		return err
	}
	at, err := c.locateInstance(ctx, m)
	if err != nil {
		return err
	}
	err = changeInstanceAt(ctx, c, host, at, change)
	if !isInstanceMissing(err) {
		return err
	}
	moved, found, failure := c.findMovedInstance(ctx, at, strings.Fields(m.Description))
	switch {
	case failure != nil:
		return failure
	case found:
		c.knownLocations.Store(systemID, moved)
		return changeInstanceAt(ctx, c, host, moved, change)
	case isStatus(err, http.StatusNotFound):
		return lostInstanceError(m, at)
	}
	return err
}

// changeInstanceAt changes an instance at its location. If that is not the host whose room
// was checked, the error is ErrBusy: the check must be repeated.
func changeInstanceAt(ctx context.Context, c *Composer, host engine.VMHost, at location, change func(*session, location) ([]string, error)) error {
	if at.server.MachineID != host.MachineID {
		return fmt.Errorf("%s is now on host %s, and no longer on %s: %w", at.instance, at.server.Name, host.Name, engine.ErrBusy)
	}
	s, done, err := c.openSession(ctx, at.server, c.ChangeTimeout)
	if err != nil {
		return err
	}
	defer done()
	if err := c.fingerprints.record(ctx, s, at.server); err != nil { // the room of the host was checked, so its server is known
		return err
	}
	defer c.cache.noteChange(host.MachineID)
	changed, err := change(s, at)
	switch {
	case isInstanceMissing(err):
		return err
	case err != nil:
		return hostError(s.explainError(err), at.server.Name)
	}
	if len(changed) > 0 {
		c.Log.InfoContext(ctx, "changed instance", "name", at.instance, "host", at.server.Name, "changes", strings.Join(changed, ", "))
	}
	return nil
}

// lostInstanceError says that no host has the instance of a machine.
func lostInstanceError(m engine.Machine, at location) error {
	return &engine.Error{
		Type: engine.HostUnavailable, Host: at.server.Name, Err: engine.ErrConflict,
		Message: fmt.Sprintf("the instance %s of machine %s (%s) is on none of the hosts", at.instance, m.Hostname, m.SystemID),
		Hint:    "It was deleted in LXD. Delete the VM, which deletes its machine in MAAS.",
		Ways:    []engine.Way{engine.WayRetry},
	}
}

// volumeGrowth is the write of a volume's new size.
type volumeGrowth struct {
	path, etag string
	put        api.StorageVolumePut
}

// instanceEdit collects the changes to one instance.
type instanceEdit struct {
	put          api.InstancePut
	etag         string
	hasChanged   bool           // put differs from the instance
	grownVolumes []volumeGrowth // volumes that grow
	newVolumes   []volume       // made before the instance is written
	changes      []string       // descriptions for people
	needStopped  []string       // the changes that need a stopped VM
}

// resizeInstance changes the size of an instance. Volumes of new disks get the birth time
// born.
func (s *session) resizeInstance(ctx context.Context, host engine.VMHost, at location, comp engine.Composition, born string) (changed []string, err error) {
	path := s.projectPath("instances", at.instance)
	have, r, err := readForEdit(s, path, at)
	if err != nil {
		return nil, err
	}
	r.noteLimits(have, comp)
	if err := r.noteDisks(s, have, host, comp.Disks); err != nil {
		return nil, err
	}
	if err := r.runningError(have); err != nil {
		return nil, err
	}
	if len(r.newVolumes) > 0 {
		if noted, err := r.recordVolumesToAdd(s, path, have); err != nil {
			return nil, err
		} else if noted {
			return s.resizeInstance(ctx, host, at, comp, born)
		}
		if err := r.makeVolumes(ctx, s, host, comp, born); err != nil {
			return nil, err
		}
	}
	return r.changes, r.sendAll(s, path)
}

// readForEdit reads an instance to change it.
func readForEdit(s *session, path string, at location) (have api.Instance, r *instanceEdit, err error) {
	etag, err := s.get(path, &have)
	switch {
	case err != nil:
		return have, nil, err
	case !haveCommonElement(instanceMACs(have), at.macs):
		return have, nil, s.otherMACError(have, at.macs)
	}
	r = &instanceEdit{put: have.Writable(), etag: etag}
	r.put.Config, r.put.Devices = maps.Clone(r.put.Config), maps.Clone(r.put.Devices)
	return have, r, nil
}

// runningError names the changes that need a stopped VM. It is nil if there are none, or if
// the VM is stopped.
func (r *instanceEdit) runningError(have api.Instance) error {
	if len(r.needStopped) == 0 || have.StatusCode == api.Stopped {
		return nil
	}
	return &engine.RunningError{Refusal: &engine.Refusal{
		Message: fmt.Sprintf("%s runs, and must be stopped to change %s", have.Name, strings.Join(r.needStopped, ", ")),
		Hint:    "Turn the machine off first; its disks are kept.", Err: engine.ErrConflict,
	}}
}

// sendAll writes the instance, then its volumes.
func (r *instanceEdit) sendAll(s *session, path string) error {
	if r.hasChanged {
		if err := sendChange(s, path, r.put, r.etag); err != nil {
			return err
		}
	}
	for _, v := range r.grownVolumes {
		if err := sendChange(s, v.path, v.put, v.etag); err != nil {
			return err
		}
	}
	return nil
}

// noteLimits notes the changes of cores and memory.
func (r *instanceEdit) noteLimits(have api.Instance, comp engine.Composition) {
	was, value := have.ExpandedConfig["limits.cpu"], cpuLimit(comp)
	if max(1, countCores(was)) != countCores(value) {
		r.noteLimit("limits.cpu", was, value, !isNumber(was) || !isNumber(value))
	}
	was, value = have.ExpandedConfig["limits.memory"], strconv.FormatInt(comp.MemoryMiB, 10)+"MiB"
	if parseBytes(was) != parseBytes(value) {
		r.noteLimit("limits.memory", was, value, true)
	}
}

// noteLimit notes the change of one limit. halts: the VM must be stopped for it.
func (r *instanceEdit) noteLimit(name, was, value string, halts bool) {
	change := fmt.Sprintf("%s from %s to %s", name, was, value)
	r.put.Config[name], r.hasChanged, r.changes = value, true, append(r.changes, change)
	if halts {
		r.needStopped = append(r.needStopped, change)
	}
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// noteDisks notes disks that grow and disks that are new. The existing disks are the root
// disk and the volumes in the order of their devices. They were made in this order.
func (r *instanceEdit) noteDisks(s *session, have api.Instance, host engine.VMHost, wanted []engine.Disk) error {
	volumes := volumesOf(have)
	if len(wanted) <= len(volumes) {
		return &engine.SpecError{
			Field: fieldpath.New("disks"), Message: fmt.Sprintf("%s has %d disks, and is to have %d", have.Name, len(volumes)+1, len(wanted)),
			Hint: "You can add disks and let them grow in place. To remove a disk, make a new VM.", Err: engine.ErrInvalid,
		}
	}
	if err := r.noteRootDisk(have, wanted[0]); err != nil {
		return err
	}
	for n, v := range volumes {
		var volume api.StorageVolume
		path := s.projectPath("storage-pools", v.pool, "volumes", "custom", v.name)
		etag, err := s.get(path, &volume)
		if err != nil {
			return err
		}
		grows, err := r.noteGrowth(wanted[n+1], parseBytes(volume.Config["size"]))
		if err != nil {
			return err
		}
		if grows {
			put := volume.Writable()
			put.Config["size"] = strconv.FormatInt(wanted[n+1].SizeGB*bytesPerGB, 10)
			r.grownVolumes = append(r.grownVolumes, volumeGrowth{path, etag, put})
		}
	}
	return r.noteNewDisks(have, host, wanted[len(volumes)+1:])
}

// noteRootDisk notes the growth of the root disk.
func (r *instanceEdit) noteRootDisk(have api.Instance, wanted engine.Disk) error {
	root := have.ExpandedDevices[rootDevice]
	size := root["size"]
	if size == "" {
		size = defaultRoot
	}
	grows, err := r.noteGrowth(wanted, parseBytes(size))
	if grows {
		own := maps.Clone(root) // root may be the device of a profile
		own["size"] = strconv.FormatInt(wanted.SizeGB*bytesPerGB, 10)
		r.put.Devices[rootDevice], r.hasChanged = own, true
	}
	return err
}

// noteGrowth notes the growth of a disk, and reports whether it grows.
func (r *instanceEdit) noteGrowth(d engine.Disk, was int64) (bool, error) {
	bytes := d.SizeGB * bytesPerGB
	switch {
	case bytes == was:
		return false, nil
	case bytes < was:
		return false, &engine.SpecError{
			Field: fieldpath.New("disks").Key(d.Name).Child("size_gb"), Message: fmt.Sprintf("the disk has %d GB, and cannot shrink to %d", was/bytesPerGB, d.SizeGB),
			Hint: "A disk can only grow in place.", Err: engine.ErrInvalid,
		}
	}
	change := fmt.Sprintf("disk %s from %d to %d GB", d.Name, was/bytesPerGB, d.SizeGB)
	r.changes, r.needStopped = append(r.changes, change), append(r.needStopped, change)
	return true, nil
}

// configureInstance changes options and devices of an instance.
func configureInstance(s *session, at location, want engine.InstanceChange) ([]string, error) {
	var info api.Server
	if _, err := s.get("/1.0", &info); err != nil {
		return nil, err
	}
	host := engine.VMHost{Name: at.server.Name, Version: info.Environment.ServerVersion, HasBootMode: hasBootMode(info)}
	if err := host.CheckBootMode(want.Config); err != nil {
		return nil, err
	}
	path := s.projectPath("instances", at.instance)
	have, r, err := readForEdit(s, path, at)
	if err != nil {
		return nil, err
	}
	r.noteOptions(want, noSecureBootConfig(host.HasBootMode))
	if err := r.noteDevices(have, want); err != nil {
		return nil, err
	}
	if err := r.runningError(have); err != nil {
		return nil, err
	}
	return r.changes, r.sendAll(s, path)
}

// noteOptions notes the options that change. A removed option returns to its value in made,
// the options that each new VM gets.
func (r *instanceEdit) noteOptions(want engine.InstanceChange, made map[string]string) {
	wanted := map[string]string{}
	for _, key := range want.RemovedConfig {
		wanted[key] = made[key]
	}
	maps.Copy(wanted, want.Config)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if r.put.Config[key] == wanted[key] {
			continue
		}
		if r.put.Config[key] = wanted[key]; wanted[key] == "" {
			delete(r.put.Config, key)
		}
		r.noteEdit(key, engine.IsInstanceOptionLive(key))
	}
}

// noteEdit notes a change. isLive: a running VM accepts it.
func (r *instanceEdit) noteEdit(what string, isLive bool) {
	r.hasChanged, r.changes = true, append(r.changes, what)
	if !isLive {
		r.needStopped = append(r.needStopped, what)
	}
}

// noteDevices notes the devices that change. A device of an unmanaged type, or from a
// profile, belongs to someone else, whatever its name.
func (r *instanceEdit) noteDevices(have api.Instance, want engine.InstanceChange) error {
	found := engine.DevicesOf(have.Devices)
	for _, name := range want.RemovedDevices {
		d, there := found[name]
		if _, stays := want.Devices[name]; !there || stays {
			continue
		}
		delete(r.put.Devices, name)
		r.noteEdit("device "+name, d.IsHotPlugged())
	}
	for _, name := range slices.Sorted(maps.Keys(want.Devices)) {
		d, was := want.Devices[name], found[name]
		other, there := have.Devices[name]
		if !there {
			other, there = have.ExpandedDevices[name]
		}
		switch {
		case there && was.Type == "":
			return &engine.SpecError{
				Field: fieldpath.New("devices").Key(name), Message: fmt.Sprintf("%s has a device %s already, of the type %s", have.Name, name, other["type"]),
				Hint: "Choose another name, or remove that device from the instance or its profile in LXD.", Err: engine.ErrConflict,
			}
		case !was.Equal(d):
			r.put.Devices[name] = d.LXDProperties()
			r.noteEdit("device "+name, d.IsHotPlugged() && (!there || was.IsHotPlugged()))
		}
	}
	return nil
}
