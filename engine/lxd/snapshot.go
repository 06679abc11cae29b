package lxd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canonical/lxd/shared"
	"github.com/canonical/lxd/shared/api"
	"github.com/canonical/lxd/shared/units"

	"github.com/maaslxd/maaslxd/engine"
)

// Snapshots implements engine.Snapshots with the sessions of a Composer. It also works with
// the LXD servers of MAAS's VM hosts.
type Snapshots struct{ composer *Composer }

var _ engine.Snapshots = (*Snapshots)(nil)

// NewSnapshots returns the Snapshots of the VMs on LXD servers. It makes no call.
func NewSnapshots(c *Composer) *Snapshots { return &Snapshots{c} }

// Snapshots implements engine.Snapshots.
func (s *Snapshots) Snapshots(ctx context.Context, at engine.LXDPlace, m engine.Machine) (list engine.SnapshotList, err error) {
	err = s.withIdleInstance(ctx, at, m, func(on *session, i api.Instance) error {
		list.Instance, list.Marks, list.DataDisks = i.Name, marksOf(i.Config), dataDisks(i.ExpandedDevices)
		var all []api.InstanceSnapshot
		if _, err := on.get(on.projectQuery(url.Values{"recursion": {"1"}}, "instances", i.Name, "snapshots"), &all); err != nil {
			return err
		}
		for _, each := range all {
			found := newSnapshot(each, list.DataDisks, machineMACs(m))
			found.LargerThanNow = describeLargerLimits(each.ExpandedConfig, i.ExpandedConfig)
			list.Snapshots = append(list.Snapshots, found)
		}
		return nil
	})
	return list, err
}

// newSnapshot returns a snapshot, compared with the present disks and MACs of the VM.
func newSnapshot(s api.InstanceSnapshot, disks, macs []string) engine.Snapshot {
	then := api.Instance{}
	then.ExpandedConfig, then.ExpandedDevices = s.ExpandedConfig, s.ExpandedDevices
	had := dataDisks(s.ExpandedDevices)
	return engine.Snapshot{
		Name: s.Name, CreatedAt: s.CreatedAt, OtherMACs: !haveCommonElement(instanceMACs(then), macs),
		UnknownVolumes: slices.DeleteFunc(slices.Clone(disks), func(d string) bool { return slices.Contains(had, d) }),
		MissingVolumes: slices.DeleteFunc(had, func(d string) bool { return slices.Contains(disks, d) }),
	}
}

// describeLargerLimits returns which limits of then take more of the host than those of
// now; empty if none. Pinned cores that differ count as more: other VMs may have them.
func describeLargerLimits(then, now map[string]string) string {
	var more []string
	memory := func(config map[string]string) int64 {
		bytes, err := units.ParseByteSizeString(config["limits.memory"])
		if err != nil {
			return math.MaxInt64 // a percentage, whose size is unknown
		}
		return bytes
	}
	if then["limits.memory"] != now["limits.memory"] && memory(then) > memory(now) {
		more = append(more, fmt.Sprintf("%s of memory, and it has %s now", then["limits.memory"], now["limits.memory"]))
	}
	cpu, has := then["limits.cpu"], now["limits.cpu"]
	cores, err := strconv.Atoi(cpu)
	hasCores, hasErr := strconv.Atoi(has)
	switch {
	case cpu == has:
	case err != nil:
		more = append(more, fmt.Sprintf("the cores %s of the host, and it has %s now", cpu, has))
	case hasErr == nil && cores > hasCores:
		more = append(more, fmt.Sprintf("%d cores, and it has %d now", cores, hasCores))
	}
	if shared.IsTrue(then["limits.memory.hugepages"]) && !shared.IsTrue(now["limits.memory.hugepages"]) {
		more = append(more, "huge pages")
	}
	return strings.Join(more, "; ")
}

// dataDisks returns the sources of the volumes among devices, sorted.
func dataDisks(devices map[string]map[string]string) []string {
	var found []string
	for _, d := range devices {
		if d["type"] == "disk" && d["pool"] != "" && d["source"] != "" {
			found = append(found, d["pool"]+"/"+d["source"])
		}
	}
	slices.Sort(found)
	return found
}

// TakeSnapshot implements engine.Snapshots.
func (s *Snapshots) TakeSnapshot(ctx context.Context, at engine.LXDPlace, m engine.Machine, want engine.SnapshotRequest) error {
	return s.changeSnapshot(ctx, at, m, func(on *session, i api.Instance) error {
		post := api.InstanceSnapshotsPost{Name: want.Name}
		if !want.ExpiresAt.IsZero() {
			post.ExpiresAt = &want.ExpiresAt
		}
		if err := on.send(http.MethodPost, on.projectPath("instances", i.Name, "snapshots"), post, ""); err != nil {
			return projectForbidsError(on, err)
		}
		s.composer.Log.InfoContext(ctx, "took snapshot", "name", i.Name, "snapshot", want.Name, "host", at.Host)
		return nil
	})
}

// projectForbidsError reports a restricted project that does not allow snapshots. LXD 5.0
// answers 500 in this case.
func projectForbidsError(s *session, refused error) error {
	if _, ok := api.StatusErrorMatch(refused); !ok {
		return refused
	}
	var p api.Project
	if _, err := s.get("/1.0/projects/"+url.PathEscape(s.target.project), &p); err != nil || !shared.IsTrue(p.Config["restricted"]) || p.Config["restricted.snapshots"] == "allow" {
		return refused
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the LXD project %s at %s is restricted, and does not allow snapshots", s.target.project, s.target.address),
		Hint:    fmt.Sprintf("On the host: lxc project set %s restricted.snapshots=allow.", s.target.project), Err: engine.ErrForbidden,
	}
}

// DeleteSnapshot implements engine.Snapshots.
func (s *Snapshots) DeleteSnapshot(ctx context.Context, at engine.LXDPlace, m engine.Machine, name string) error {
	return s.changeSnapshot(ctx, at, m, func(on *session, i api.Instance) error {
		err := on.send(http.MethodDelete, on.projectPath("instances", i.Name, "snapshots", name), nil, "")
		if err != nil && !isStatus(err, http.StatusNotFound) {
			return err
		}
		s.composer.Log.InfoContext(ctx, "deleted snapshot", "name", i.Name, "snapshot", name, "host", at.Host)
		return nil
	})
}

// RestoreSnapshot implements engine.Snapshots. The instance must be stopped: LXD would stop
// a running one, and MAAS would not know.
func (s *Snapshots) RestoreSnapshot(ctx context.Context, at engine.LXDPlace, m engine.Machine, name string, marks map[string]string) error {
	return s.changeSnapshot(ctx, at, m, func(on *session, i api.Instance) error {
		if i.StatusCode != api.Stopped {
			return fmt.Errorf("the instance %s is %s, and must be stopped before it is restored: %w", i.Name, i.Status, engine.ErrBusy)
		}
		defer s.composer.cache.noteChange(at.MachineID)
		if err := on.send(http.MethodPut, on.projectPath("instances", i.Name), map[string]string{"restore": name}, ""); err != nil {
			return err
		}
		s.composer.Log.InfoContext(ctx, "restored snapshot", "name", i.Name, "snapshot", name, "host", at.Host)
		return restoreMarks(on, i.Name, marks)
	})
}

// marksOf returns our own config keys of an instance. A restore must not bring back earlier
// values of them.
func marksOf(config map[string]string) map[string]string {
	marks := maps.Clone(config)
	maps.DeleteFunc(marks, func(key, _ string) bool { return !strings.HasPrefix(key, "user.maaslxd.") && key != birthTimeConfig })
	return marks
}

// restoreMarks writes back the marks that an instance had before the restore.
func restoreMarks(s *session, name string, marks map[string]string) error {
	var now api.Instance
	path := s.projectPath("instances", name)
	etag, err := s.get(path, &now)
	if err != nil || maps.Equal(marksOf(now.Config), marks) {
		return err
	}
	put := now.Writable()
	for key := range marksOf(now.Config) {
		delete(put.Config, key)
	}
	maps.Copy(put.Config, marks)
	return s.send(http.MethodPut, path, put, etag)
}

// snapshotTimeout bounds a snapshot operation: the driver dir copies disks. The caller's
// deadline is shorter.
const snapshotTimeout = time.Hour

// withIdleInstance finds the instance of a machine, waits until LXD has no operation on it,
// and calls act.
func (s *Snapshots) withIdleInstance(ctx context.Context, at engine.LXDPlace, m engine.Machine, act func(*session, api.Instance) error) error {
	return s.withSession(ctx, at, s.composer.ChangeTimeout, func(on *session) error {
		i, err := findInstance(on, m)
		if err == nil {
			err = awaitIdleInstance(on, i.Name)
		}
		if err != nil {
			return err
		}
		return act(on, i)
	})
}

// changeSnapshot is withIdleInstance for operations that take LXD long.
func (s *Snapshots) changeSnapshot(ctx context.Context, at engine.LXDPlace, m engine.Machine, act func(*session, api.Instance) error) error {
	var found api.Instance
	err := s.withIdleInstance(ctx, at, m, func(_ *session, i api.Instance) error { found = i; return nil })
	if err != nil {
		return err
	}
	return s.withSession(ctx, at, snapshotTimeout, func(on *session) error { return act(on, found) })
}

// withSession calls act in a session with an LXD.
func (s *Snapshots) withSession(ctx context.Context, at engine.LXDPlace, timeout time.Duration, act func(*session) error) error {
	server := Server{Name: at.Host, MachineID: at.MachineID, Endpoint: at.Endpoint, Fingerprint: at.Fingerprint}
	on, done, err := s.composer.openSession(ctx, server, timeout)
	if err != nil {
		return err
	}
	defer done()
	if err := act(on); err != nil {
		return hostError(explainSnapshotError(on, err), at.Host)
	}
	return nil
}

// explainSnapshotError is explainError, except that a failed operation is a refusal: a
// repetition would fail too.
func explainSnapshotError(s *session, err error) error {
	failed, ok := errors.AsType[*operationError](err)
	if !ok {
		return s.explainError(err)
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the LXD at %s says: %s", s.target.address, shortMessage(failed.message)),
		Hint:    "See LXD's log on the host. With ZFS, LXD restores only the latest snapshot, unless zfs.remove_snapshots is set for the volume.", Err: engine.ErrUnavailable,
	}
}

// findInstance finds the instance of a machine in the project by its MACs: MAAS does not
// know the instance name of every VM. A copy may have the MACs too, but not the birth time.
func findInstance(s *session, m engine.Machine) (api.Instance, error) {
	var all []api.Instance
	if _, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "instances"), &all); err != nil {
		return api.Instance{}, err
	}
	found := slices.DeleteFunc(all, func(i api.Instance) bool { return !haveCommonElement(instanceMACs(i), machineMACs(m)) })
	for _, isIt := range []func(api.Instance) bool{
		func(i api.Instance) bool { return i.Config[birthTimeConfig] != "" }, func(i api.Instance) bool { return i.Name == m.Hostname },
	} {
		if n := slices.IndexFunc(found, isIt); len(found) > 1 && n >= 0 && !slices.ContainsFunc(found[n+1:], isIt) {
			found = found[n : n+1]
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.Instance{}, &engine.Refusal{
			Message: fmt.Sprintf("no instance of project %s in the LXD at %s has a MAC of %s (%s)", s.target.project, s.target.address, m.Hostname, m.SystemID),
			Hint:    "It may have been moved or deleted in LXD.", Ways: []engine.Way{engine.WayLookAgain}, Err: engine.ErrConflict,
		}
	}
	names := make([]string, len(found))
	for n, i := range found {
		names[n] = i.Name
	}
	return api.Instance{}, &engine.Refusal{
		Message: fmt.Sprintf("several instances of project %s in the LXD at %s have the MAC of %s (%s): %s",
			s.target.project, s.target.address, m.Hostname, m.SystemID, strings.Join(names, ", ")),
		Hint: "Give each copy a MAC of its own (lxc config device set), or delete it.", Err: engine.ErrConflict,
	}
}

// awaitIdleInstance waits for LXD's operations on an instance. Example: a caller lost the
// reply to a snapshot; LXD lists that snapshot before it is complete.
func awaitIdleInstance(s *session, instance string) error {
	var operations map[string][]api.Operation
	if _, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "operations"), &operations); err != nil {
		return err
	}
	for _, o := range operations["running"] {
		about := func(u string) bool { // of a deleted snapshot, u is "/1.0/instances/web/s1"
			name, _, _ := strings.Cut(strings.TrimPrefix(u, "/1.0/instances/"), "/")
			return nameInURL(name) == instance
		}
		if o.Class != api.OperationClassTask || !slices.ContainsFunc(o.Resources["instances"], about) {
			continue
		}
		if err := s.waitOperation(o.ID); isUnclear(err) {
			return fmt.Errorf("LXD has another operation active on %s: %w", instance, engine.ErrBusy)
		}
	}
	return nil
}
