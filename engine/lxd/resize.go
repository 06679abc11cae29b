package lxd

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// Resize changes the number of cores, the memory and the sizes of disks of a VM
// in place; all else of the Composition is left aside: a VM with as many cores
// keeps those that it is pinned to. Of a VM that runs only a number of cores can
// be changed, into another number, and its system may have to bring them online;
// for all else it must be stopped, or the error, an *engine.RunningError, says what. Disks
// that come are the last ones, and are made and added also while it runs. A disk that would
// shrink or go is an *engine.SpecError. Whether the host has
// the room is for the caller to know. MAAS shows the new size once the machine was
// commissioned again.
func (c *Composer) Resize(ctx context.Context, host engine.VMHost, systemID string, comp engine.Composition) error {
	m, err := c.Machines.Machine(ctx, systemID)
	if err != nil {
		return err
	}
	at, err := c.placeOf(ctx, m)
	if err != nil {
		return err
	}
	err = c.resizeAt(ctx, host, at, comp)
	if !notThere(err) {
		return err
	}
	moved, found, failure := c.elsewhere(ctx, at, strings.Fields(m.Description))
	switch {
	case failure != nil:
		return failure
	case found:
		c.known.Store(systemID, moved)
		return c.resizeAt(ctx, host, moved, comp)
	case isStatus(err, http.StatusNotFound):
		return lostInstance(m, at)
	}
	return err
}

// resizeAt changes an instance where it is. Where that is another host than the
// one whose room was looked at, that is to be done anew: ErrBusy.
func (c *Composer) resizeAt(ctx context.Context, host engine.VMHost, at place, comp engine.Composition) error {
	if at.server.MachineID != host.MachineID {
		return fmt.Errorf("%s is on host %s by now, and not on %s any more: %w", at.instance, at.server.Name, host.Name, engine.ErrBusy)
	}
	s, done, err := c.open(ctx, at.server, c.Slow)
	if err != nil {
		return err
	}
	defer done()
	if err := c.kept.keep(ctx, s, at.server); err != nil { // the room of the host was looked at, so it is known
		return err
	}
	defer c.fleet.drop(host.MachineID)
	changed, err := s.resize(ctx, host, at, comp, bornNow(c.Now()))
	switch {
	case notThere(err):
		return err
	case err != nil:
		return named(s.explain(err), at.server.Name)
	}
	if len(changed) > 0 {
		c.Log.InfoContext(ctx, "resized instance", "name", at.instance, "host", at.server.Name, "changes", strings.Join(changed, ", "))
	}
	return nil
}

// lostInstance says that no host has the instance of a machine.
func lostInstance(m engine.Machine, at place) error {
	return &engine.Error{
		Type: engine.HostUnavailable, Host: at.server.Name, Err: engine.ErrConflict,
		Message: fmt.Sprintf("the instance %s of machine %s (%s) is on none of the hosts", at.instance, m.Hostname, m.SystemID),
		Hint:    "Somebody deleted it in LXD. Destroy the VM, which takes its machine out of MAAS, and apply again.",
	}
}

// growth is a volume with a new size.
type growth struct {
	path, etag string
	put        api.StorageVolumePut
}

// resizing is what is to be changed of an instance.
type resizing struct {
	put     api.InstancePut
	etag    string
	edited  bool     // put differs
	volumes []growth // volumes that grow
	added   []volume // that are made first
	changes []string // in words
	halting []string // those of them that need a stopped VM
}

// resize changes an instance. The volumes of disks that come are born at the time given.
func (s *session) resize(ctx context.Context, host engine.VMHost, at place, comp engine.Composition, born string) (changed []string, err error) {
	path := s.at("instances", at.instance)
	var have api.Instance
	etag, err := s.get(path, &have)
	switch {
	case err != nil:
		return nil, err
	case !share(macsOf(have), at.macs):
		return nil, s.otherMAC(have, at.macs)
	}
	r := resizing{put: have.Writable(), etag: etag}
	r.put.Config, r.put.Devices = maps.Clone(r.put.Config), maps.Clone(r.put.Devices)
	r.limits(have, comp)
	if err := r.disks(s, have, host, comp.Disks); err != nil {
		return nil, err
	}
	if len(r.halting) > 0 && have.StatusCode != api.Stopped {
		return nil, &engine.RunningError{Refusal: &engine.Refusal{
			Message: fmt.Sprintf("%s runs, and must be stopped to change %s", have.Name, strings.Join(r.halting, ", ")),
			Hint:    "Turn the machine off first; its disks are kept.", Err: engine.ErrConflict,
		}}
	}
	if len(r.added) > 0 {
		if noted, err := r.begin(s, path, have); err != nil {
			return nil, err
		} else if noted {
			return s.resize(ctx, host, at, comp, born)
		}
		if err := r.makeVolumes(ctx, s, host, comp, born); err != nil {
			return nil, err
		}
	}
	return r.changes, r.send(s, path)
}

// send changes the instance, then its volumes.
func (r *resizing) send(s *session, path string) error {
	if r.edited {
		if err := s.send(http.MethodPut, path, r.put, r.etag); err != nil {
			return err
		}
	}
	for _, v := range r.volumes {
		if err := s.send(http.MethodPut, v.path, v.put, v.etag); err != nil {
			return err
		}
	}
	return nil
}

// limits notes the changes of cores and memory.
func (r *resizing) limits(have api.Instance, comp engine.Composition) {
	was, value := have.ExpandedConfig["limits.cpu"], cpuLimit(comp)
	if max(1, coresOf(was)) != coresOf(value) {
		r.limit("limits.cpu", was, value, !isNumber(was) || !isNumber(value))
	}
	was, value = have.ExpandedConfig["limits.memory"], strconv.FormatInt(comp.MemoryMiB, 10)+"MiB"
	if bytesOf(was) != bytesOf(value) {
		r.limit("limits.memory", was, value, true)
	}
}

// limit notes the change of one, which may take a stopped VM.
func (r *resizing) limit(name, was, value string, halts bool) {
	change := fmt.Sprintf("%s from %s to %s", name, was, value)
	r.put.Config[name], r.edited, r.changes = value, true, append(r.changes, change)
	if halts {
		r.halting = append(r.halting, change)
	}
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// disks notes the disks that grow, and those that come after them. They are the root disk and the volumes in
// the order of their devices, as they were made.
func (r *resizing) disks(s *session, have api.Instance, host engine.VMHost, wanted []engine.Disk) error {
	volumes := volumesOf(have)
	if len(wanted) <= len(volumes) {
		return &engine.SpecError{
			Field: "disks", Message: fmt.Sprintf("%s has %d disks, and is to have %d", have.Name, len(volumes)+1, len(wanted)),
			Hint: "Disks can grow and come in place, but not go: that takes a new VM.", Err: engine.ErrInvalid,
		}
	}
	if err := r.rootDisk(have, wanted[0]); err != nil {
		return err
	}
	for n, v := range volumes {
		var volume api.StorageVolume
		path := s.at("storage-pools", v.pool, "volumes", "custom", v.name)
		etag, err := s.get(path, &volume)
		if err != nil {
			return err
		}
		grows, err := r.grows(wanted[n+1], bytesOf(volume.Config["size"]))
		if err != nil {
			return err
		}
		if grows {
			put := volume.Writable()
			put.Config["size"] = strconv.FormatInt(wanted[n+1].SizeGB*bytesPerGB, 10)
			r.volumes = append(r.volumes, growth{path, etag, put})
		}
	}
	return r.addedDisks(have, host, wanted[len(volumes)+1:])
}

// rootDisk compares the root disk.
func (r *resizing) rootDisk(have api.Instance, wanted engine.Disk) error {
	root := have.ExpandedDevices[rootDevice]
	size := root["size"]
	if size == "" {
		size = defaultRoot
	}
	grows, err := r.grows(wanted, bytesOf(size))
	if grows {
		own := maps.Clone(root) // it may be a profile's
		own["size"] = strconv.FormatInt(wanted.SizeGB*bytesPerGB, 10)
		r.put.Devices[rootDevice], r.edited = own, true
	}
	return err
}

// grows tells that a disk is to grow, and notes it.
func (r *resizing) grows(d engine.Disk, was int64) (bool, error) {
	bytes := d.SizeGB * bytesPerGB
	switch {
	case bytes == was:
		return false, nil
	case bytes < was:
		return false, &engine.SpecError{
			Field: "disks." + d.Name + ".size_gb", Message: fmt.Sprintf("the disk has %d GB, and cannot shrink to %d", was/bytesPerGB, d.SizeGB),
			Hint: "A disk can only grow in place.", Err: engine.ErrInvalid,
		}
	}
	change := fmt.Sprintf("disk %s from %d to %d GB", d.Name, was/bytesPerGB, d.SizeGB)
	r.changes, r.halting = append(r.changes, change), append(r.halting, change)
	return true, nil
}
