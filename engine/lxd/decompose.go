package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// Decompose implements engine.Composer. It removes the instance with its volumes first, and
// the machine last. If it is cut off in between, the machine is left, and the next attempt
// finds it. An instance without a machine would not be found. MAAS accepts either order.
//
// It returns ErrBusy while the instance runs, and ErrConflict if the instance of that name
// is not the machine's.
func (c *Composer) Decompose(ctx context.Context, systemID string) error {
	m, err := c.Machines.Machine(ctx, systemID)
	if errors.Is(err, engine.ErrNotFound) {
		at, ok := c.knownLocation(systemID)
		if !ok {
			return nil // no location is known either
		}
		return c.removeInstanceAt(ctx, at, nil)
	}
	if err != nil {
		return err
	}
	if m.Locked {
		return engine.NewLockedError(m, "delete")
	}
	at, err := c.locateInstance(ctx, m)
	if err != nil {
		return err
	}
	if err := c.removeInstanceAt(ctx, at, strings.Fields(m.Description)); err != nil {
		return err
	}
	if err := c.Enlister.DeleteMachineRecord(ctx, systemID); err != nil {
		return fmt.Errorf("the instance of %s is gone, but MAAS keeps its machine: %w", m.Hostname, err)
	}
	c.knownLocations.Delete(systemID)
	return nil
}

// CheckInstanceReachable implements engine.Composer. It reads the instance where MAAS turns it on and
// off, and searches all hosts if it is not there.
func (c *Composer) CheckInstanceReachable(ctx context.Context, m engine.Machine) error {
	at, err := c.locateInstance(ctx, m)
	if err != nil {
		return err
	}
	if err := c.cache.recentFailure(engine.VMHost{MachineID: at.server.MachineID, HostKey: at.server.MachineID}, c.Now()); err != nil {
		return hostError(err, at.server.Name) // otherwise each VM on it would wait for it
	}
	s, done, err := c.openSession(ctx, at.server, c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	marks := strings.Fields(m.Description)
	_, err = readOwnInstance(s, at.instance, at.macs, marks...)
	switch {
	case err == nil:
		return nil
	case !isInstanceMissing(err):
		return hostError(s.explainError(err), at.server.Name)
	}
	c.cache.expire(c.Now(), rereadAfter)
	all, failure := c.currentInventory(ctx)
	if failure != nil {
		return failure
	}
	moved, found, failure := all.findMovedInstance(at, marks)
	switch {
	case failure != nil:
		return failure
	case found:
		return checkMovedByHand(ctx, c, m, moved)
	case isStatus(err, http.StatusNotFound):
		return nil
	}
	return hostError(s.explainError(err), at.server.Name)
}

// removeInstanceAt removes an instance, and the volumes that were left of it before: they
// carry one of the marks.
func (c *Composer) removeInstanceAt(ctx context.Context, at location, marks []string) error {
	s, done, err := c.openSession(ctx, at.server, c.ChangeTimeout)
	if err != nil {
		return err
	}
	defer done()
	defer c.cache.noteChange(at.server.MachineID)
	err = s.removeInstance(at.instance, at.macs, marks...)
	if isInstanceMissing(err) {
		moved, found, failure := c.findMovedInstance(ctx, at, marks)
		switch {
		case failure != nil:
			err = failure
		case found:
			return c.removeInstanceAt(ctx, moved, marks)
		case isStatus(err, http.StatusNotFound):
			err = s.removeLeftVolumes(marks)
		}
	}
	if err != nil {
		return hostError(s.explainError(err), at.server.Name)
	}
	c.Log.InfoContext(ctx, "removed instance", "name", at.instance, "host", at.server.Name)
	return nil
}

// removeLeftVolumes removes the volumes of an instance that was removed without them.
func (s *session) removeLeftVolumes(marks []string) error {
	var pools []string
	if _, err := s.get("/1.0/storage-pools", &pools); err != nil {
		return err
	}
	for _, u := range pools {
		var volumes []api.StorageVolume
		_, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "storage-pools", nameInURL(u), "volumes", "custom"), &volumes)
		switch {
		case isStatus(err, http.StatusNotFound):
			continue // the project is gone
		case err != nil:
			return err
		}
		for _, v := range volumes {
			if len(v.UsedBy) > 0 || v.Config[markerConfig] == "" || !slices.Contains(marks, v.Config[markerConfig]) {
				continue
			}
			if err := s.dropVolumes([]volume{{pool: nameInURL(u), name: v.Name}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readOwnInstance reads the instance of a machine. The instance must have one of the MACs. If no
// MACs are known, it must have one of the marks. If there is no such instance, the error is
// LXD's 404.
func readOwnInstance(s *session, name string, macs []string, marks ...string) (have api.Instance, err error) {
	if _, err := s.get(s.projectPath("instances", name), &have); err != nil {
		return have, err
	}
	switch {
	case len(macs) > 0 && !haveCommonElement(instanceMACs(have), macs):
		return have, s.otherMACError(have, macs)
	case len(macs) == 0 && (have.Config[markerConfig] == "" || !slices.Contains(marks, have.Config[markerConfig])):
		return have, s.onlyNameMatchesError(have)
	}
	return have, nil
}

// removeInstance deletes a stopped instance and its volumes, and checks that it is gone. Its
// errors are those of readOwnInstance, too.
func (s *session) removeInstance(name string, macs []string, marks ...string) error {
	have, err := readOwnInstance(s, name, macs, marks...)
	if err != nil {
		return err
	}
	if have.StatusCode != api.Stopped {
		return s.stillRunningError(have)
	}
	path := s.projectPath("instances", name)
	failure := s.send(http.MethodDelete, path, nil, "")
	if failure != nil {
		var still api.Instance
		_, err := s.get(path, &still)
		switch {
		case err == nil && still.StatusCode != api.Stopped:
			return s.stillRunningError(still)
		case !isStatus(err, http.StatusNotFound):
			return failure
		}
	}
	return errors.Join(s.dropVolumes(volumesOf(have)), dropUnusedNewVolumes(s, have))
}

// onlyNameMatchesError says that nothing but the name links an instance to the machine.
func (s *session) onlyNameMatchesError(i api.Instance) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("only the name links the instance %s of project %s in the LXD at %s to the machine, which has no MAC in MAAS",
			i.Name, s.target.project, s.target.address),
		Hint: "If the instance is the machine's, delete it in LXD, or give the machine its MAC in MAAS. If not, delete the machine in MAAS: the instance stays.", Err: engine.ErrConflict,
	}
}

// stillRunningError says that an instance must be stopped first. It may stop by itself, or
// it may be starting at this moment.
func (s *session) stillRunningError(i api.Instance) error {
	return &engine.Error{
		Type: engine.HostUnavailable, Err: engine.ErrBusy,
		Message: fmt.Sprintf("the instance %s must be stopped before it is deleted, and is %s", i.Name, i.Status),
		Hint:    fmt.Sprintf("Turn the machine off in MAAS, or on the host: lxc stop %s --project %s.", i.Name, s.target.project),
	}
}
