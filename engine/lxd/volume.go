package lxd

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// volume is a disk of a VM beyond its root disk.
type volume struct {
	device, pool, name string
	bytes              int64
}

// volumeName is what the volume of a VM's device is called.
func volumeName(instance, device string) string { return instance + "-" + device }

// ensureVolume makes a volume. One of ours that nothing uses was left by a
// compose that was cut off.
func (s *session) ensureVolume(p *plan, v volume) error {
	post := api.StorageVolumesPost{Name: v.name, Type: "custom", ContentType: "block"}
	post.Config = map[string]string{
		"size": strconv.FormatInt(v.bytes, 10), keyConfig: string(p.comp.Key), markerConfig: p.comp.Marker, volumeBornConfig: p.post.Config[bornConfig],
	}
	create := func() error {
		return s.send(http.MethodPost, s.at("storage-pools", v.pool, "volumes", "custom"), post, "")
	}
	failure := create()
	if failure == nil {
		return nil
	}
	var found api.StorageVolume
	switch _, err := s.get(s.at("storage-pools", v.pool, "volumes", "custom", v.name), &found); {
	case isStatus(err, http.StatusNotFound) && isLost(failure):
		return create()
	case err != nil:
		return failure
	case found.Config[markerConfig] != p.comp.Marker:
		return &engine.Refusal{
			Message: fmt.Sprintf("the storage pool %q of host %s has a volume %s already, which was not made for this VM", v.pool, p.host.Name, v.name),
			Hint:    "Choose another name for the VM, or delete the volume on the host.", Err: engine.ErrConflict,
		}
	case len(found.UsedBy) > 0 || isLost(failure):
		return nil // by our instance, as is seen next
	}
	if err := s.dropVolumes([]volume{v}); err != nil {
		return err
	}
	return create()
}

// dropVolumes deletes volumes; absent ones are no error.
func (s *session) dropVolumes(volumes []volume) error {
	var failures []error
	for _, v := range volumes {
		err := s.send(http.MethodDelete, s.at("storage-pools", v.pool, "volumes", "custom", v.name), nil, "")
		if err != nil && !isStatus(err, http.StatusNotFound) {
			failures = append(failures, fmt.Errorf("volume %s of pool %s is left: %w", v.name, v.pool, s.explain(err)))
		}
	}
	return errors.Join(failures...)
}

// madeByMAAS begins the names of the volumes that MAAS makes
// (drivers/pod/lxd.py, _create_volume).
const madeByMAAS = "maas-"

// volumesOf are the volumes that were made with the VM: by us, or by MAAS. What
// somebody else attached to it stays.
func volumesOf(i api.Instance) []volume {
	var made []volume
	for device, d := range i.Devices {
		// The volume keeps its name where the instance is renamed.
		ours := i.Config[markerConfig] != "" && strings.HasSuffix(d["source"], "-"+device)
		if d["type"] == "disk" && d["pool"] != "" && (ours || strings.HasPrefix(d["source"], madeByMAAS)) {
			made = append(made, volume{device: device, pool: d["pool"], name: d["source"]})
		}
	}
	slices.SortFunc(made, func(a, b volume) int { // disk10 comes after disk9
		return cmp.Or(cmp.Compare(len(a.device), len(b.device)), cmp.Compare(a.device, b.device))
	})
	return made
}
