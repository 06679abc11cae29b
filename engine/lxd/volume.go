package lxd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// volume is a disk of a VM other than its root disk.
type volume struct {
	device, pool, name string
	bytes              int64
}

// volumeName returns the name of the volume for a VM's device.
func volumeName(instance, device string) string { return instance + "-" + device }

// ensureVolume makes a volume. If the volume exists, is ours and unused, a compose that was
// cut off left it: it is made again.
func (s *session) ensureVolume(p *plan, v volume) error {
	post := api.StorageVolumesPost{Name: v.name, Type: "custom", ContentType: "block"}
	post.Config = map[string]string{
		"size": strconv.FormatInt(v.bytes, 10), keyConfig: string(p.comp.Key), markerConfig: p.comp.Marker, volumeBirthTimeConfig: p.post.Config[birthTimeConfig],
	}
	create := func() error {
		return s.send(http.MethodPost, s.projectPath("storage-pools", v.pool, "volumes", "custom"), post, "")
	}
	failure := create()
	if failure == nil {
		return nil
	}
	var found api.StorageVolume
	switch _, err := s.get(s.projectPath("storage-pools", v.pool, "volumes", "custom", v.name), &found); {
	case isStatus(err, http.StatusNotFound) && isUnclear(failure):
		return create()
	case err != nil:
		return failure
	case found.Config[markerConfig] != p.comp.Marker:
		return &engine.Refusal{
			Message: fmt.Sprintf("the storage pool %q of host %s has a volume %s already, which was not made for this VM", v.pool, p.host.Name, v.name),
			Hint:    "Choose another name for the VM, or delete the volume on the host.", Err: engine.ErrConflict,
		}
	case len(found.UsedBy) > 0 || isUnclear(failure):
		return nil // used by our instance, which the next step checks
	}
	if err := s.dropVolumes([]volume{v}); err != nil {
		return err
	}
	return create()
}

// dropVolumes deletes volumes. Absent volumes are no error.
func (s *session) dropVolumes(volumes []volume) error {
	var failures []error
	for _, v := range volumes {
		err := s.send(http.MethodDelete, s.projectPath("storage-pools", v.pool, "volumes", "custom", v.name), nil, "")
		if err != nil && !isStatus(err, http.StatusNotFound) {
			failures = append(failures, fmt.Errorf("volume %s of pool %s is left: %w", v.name, v.pool, s.explainError(err)))
		}
	}
	return errors.Join(failures...)
}

// maasVolumePrefix begins the names of the volumes that MAAS makes (drivers/pod/lxd.py,
// _create_volume).
const maasVolumePrefix = "maas-"

// volumesOf returns the volumes that were made with the VM, by us or by MAAS. Volumes that
// someone else attached do not count.
func volumesOf(i api.Instance) []volume {
	var made []volume
	for device, d := range i.Devices {
		// The volume keeps its name when the instance is renamed.
		ours := i.Config[markerConfig] != "" && strings.HasSuffix(d["source"], "-"+device)
		if d["type"] == "disk" && d["pool"] != "" && (ours || strings.HasPrefix(d["source"], maasVolumePrefix)) {
			made = append(made, volume{device: device, pool: d["pool"], name: d["source"]})
		}
	}
	slices.SortFunc(made, func(a, b volume) int { // disk10 comes after disk9
		return cmp.Or(cmp.Compare(len(a.device), len(b.device)), cmp.Compare(a.device, b.device))
	})
	return made
}

// volumesToAddConfig lists volumes, as "pool/volume", that are made to be added to an
// instance. If a run is cut off before it adds them, the key stays. Then the next run
// continues, and whoever deletes the VM also deletes them.
const volumesToAddConfig = "user.maaslxd.adding"

// noteNewDisks notes new disks. LXD plugs them into a running VM.
func (r *instanceEdit) noteNewDisks(have api.Instance, host engine.VMHost, wanted []engine.Disk) error {
	var disks, last int
	for name, d := range have.ExpandedDevices {
		if d["type"] == "disk" && d["pool"] != "" {
			disks++
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "disk")); err == nil && strings.HasPrefix(name, "disk") {
			last = max(last, n)
		}
	}
	if own := len(volumesOf(have)) + 1; len(wanted) > 0 && disks != own {
		return &engine.SpecError{
			Field: fieldpath.New("disks"), Message: fmt.Sprintf("%s has %d disks of storage pools, but only %d of them were made with it", have.Name, disks, own),
			Hint: "A disk was attached to the instance in LXD. Detach it, or attach the new disk in LXD too.", Err: engine.ErrConflict,
		}
	}
	for n, d := range wanted {
		in, err := choosePool(host, d)
		if err != nil {
			return err
		}
		device := fmt.Sprintf("disk%d", last+1+n)
		v := volume{device: device, pool: in, name: volumeName(have.Name, device), bytes: d.SizeGB * bytesPerGB}
		if have.Config[markerConfig] == "" { // volumesOf recognizes it by this prefix
			v.name = maasVolumePrefix + v.name
		}
		r.newVolumes = append(r.newVolumes, v)
		r.put.Devices[device], r.hasChanged = map[string]string{"type": "disk", "pool": v.pool, "source": v.name}, true
		r.changes = append(r.changes, fmt.Sprintf("disk %s of %d GB", d.Name, d.SizeGB))
	}
	delete(r.put.Config, volumesToAddConfig)
	return nil
}

// choosePool returns the storage pool for a disk.
func choosePool(host engine.VMHost, d engine.Disk) (string, error) {
	var names []string
	for _, p := range host.StoragePools {
		if p.Name == d.Pool || d.Pool == "" && p.Default {
			return p.Name, nil
		}
		names = append(names, p.Name)
	}
	return "", &engine.SpecError{
		Field: fieldpath.New("disks").Key(d.Name).Child("pool"), Message: fmt.Sprintf("the LXD of host %s has no storage pool %q", host.Name, d.Pool),
		Hint: fmt.Sprintf("It has: %s.", strings.Join(names, ", ")), Err: engine.ErrInvalid,
	}
}

// formatVolumeNames returns the value of volumesToAddConfig.
func formatVolumeNames(added []volume) string {
	names := make([]string, len(added))
	for n, v := range added {
		names[n] = v.pool + "/" + v.name
	}
	return strings.Join(names, " ")
}

// recordVolumesToAdd notes on the instance which volumes will be made. It reports whether
// the note is new: then the instance must be read again. It deletes the unused volumes of
// an earlier note.
func (r *instanceEdit) recordVolumesToAdd(s *session, path string, have api.Instance) (fresh bool, err error) {
	note := formatVolumeNames(r.newVolumes)
	if note == have.Config[volumesToAddConfig] {
		return false, nil
	}
	if err := dropUnusedNewVolumes(s, have); err != nil {
		return false, err
	}
	for _, v := range r.newVolumes {
		if err := refuseExistingVolume(s, v); err != nil {
			return false, err
		}
	}
	put := have.Writable()
	put.Config[volumesToAddConfig] = note
	return true, s.send(http.MethodPut, path, put, r.etag)
}

// refuseExistingVolume refuses a volume that exists before any run has begun to make it: a
// detached disk still holds its data.
func refuseExistingVolume(s *session, v volume) error {
	_, err := s.get(s.projectPath("storage-pools", v.pool, "volumes", "custom", v.name), new(api.StorageVolume))
	switch {
	case isStatus(err, http.StatusNotFound):
		return nil
	case err != nil:
		return err
	}
	return &engine.SpecError{
		Field: fieldpath.New("disks"), Message: fmt.Sprintf("storage pool %s has a volume %s already, which may hold the data of a disk that was detached", v.pool, v.name),
		Hint: "Attach it to the instance in LXD again, or delete it there.", Err: engine.ErrConflict,
	}
}

// makeVolumes makes the volumes of new disks.
func (r *instanceEdit) makeVolumes(ctx context.Context, s *session, host engine.VMHost, comp engine.Composition, born string) error {
	p := plan{comp: comp}
	p.host.Name, p.post.Config = host.Name, map[string]string{birthTimeConfig: born}
	for _, v := range r.newVolumes {
		if err := errors.Join(ctx.Err(), s.ensureVolume(&p, v)); err != nil {
			return err
		}
	}
	return nil
}

// dropUnusedNewVolumes deletes the volumes in volumesToAddConfig that no instance uses.
func dropUnusedNewVolumes(s *session, have api.Instance) error {
	var left []volume
	for name := range strings.FieldsSeq(have.Config[volumesToAddConfig]) {
		pool, name, _ := strings.Cut(name, "/")
		var found api.StorageVolume
		_, err := s.get(s.projectPath("storage-pools", pool, "volumes", "custom", name), &found)
		switch {
		case isStatus(err, http.StatusNotFound):
		case err != nil:
			return err
		case found.Config[markerConfig] != "" && len(found.UsedBy) == 0:
			left = append(left, volume{pool: pool, name: name})
		}
	}
	return s.dropVolumes(left)
}
