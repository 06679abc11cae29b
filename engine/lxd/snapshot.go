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

// Snapshots implements engine.Snapshots with the sessions of a Composer. It reaches the
// LXDs of VM hosts of MAAS as well.
type Snapshots struct{ composer *Composer }

var _ engine.Snapshots = (*Snapshots)(nil)

// NewSnapshots are those of the VMs that are in LXD servers. It makes no call.
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

// newSnapshot compares a snapshot with the disks and MACs that the VM has.
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

// describeLargerLimits says what an instance with the limits of then takes more of its host than with those
// of now; empty: nothing. Pinned cores are others' where they are not those of now.
func describeLargerLimits(then, now map[string]string) string {
	var more []string
	memory := func(config map[string]string) int64 {
		bytes, err := units.ParseByteSizeString(config["limits.memory"])
		if err != nil {
			return math.MaxInt64 // a percentage: who knows
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

// dataDisks are the volumes among devices, sorted.
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

// projectForbidsError tells that a restricted project admits no snapshots. LXD 5.0 answers
// with 500 then.
func projectForbidsError(s *session, refused error) error {
	if _, ok := api.StatusErrorMatch(refused); !ok {
		return refused
	}
	var p api.Project
	if _, err := s.get("/1.0/projects/"+url.PathEscape(s.target.project), &p); err != nil || !shared.IsTrue(p.Config["restricted"]) || p.Config["restricted.snapshots"] == "allow" {
		return refused
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the LXD project %s at %s is restricted, and admits no snapshots", s.target.project, s.target.address),
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

// RestoreSnapshot implements engine.Snapshots. LXD stops an instance that runs, behind
// MAAS, so that one must be stopped first.
func (s *Snapshots) RestoreSnapshot(ctx context.Context, at engine.LXDPlace, m engine.Machine, name string, marks map[string]string) error {
	return s.changeSnapshot(ctx, at, m, func(on *session, i api.Instance) error {
		if i.StatusCode != api.Stopped {
			return fmt.Errorf("the instance %s is %s, and is not restored before it is stopped: %w", i.Name, i.Status, engine.ErrBusy)
		}
		defer s.composer.cache.noteChange(at.MachineID)
		if err := on.send(http.MethodPut, on.projectPath("instances", i.Name), map[string]string{"restore": name}, ""); err != nil {
			return err
		}
		s.composer.Log.InfoContext(ctx, "restored snapshot", "name", i.Name, "snapshot", name, "host", at.Host)
		return restoreMarks(on, i.Name, marks)
	})
}

// marksOf are the options of an instance that are ours: a restore must not bring earlier
// ones back.
func marksOf(config map[string]string) map[string]string {
	marks := maps.Clone(config)
	maps.DeleteFunc(marks, func(key, _ string) bool { return !strings.HasPrefix(key, "user.maaslxd.") && key != birthTimeConfig })
	return marks
}

// restoreMarks gives an instance the marks that it had before.
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

// snapshotTimeout bounds what LXD does with a snapshot: the driver dir copies disks. The
// deadline of the caller is shorter.
const snapshotTimeout = time.Hour

// withIdleInstance finds the instance of a machine, and looks at it once LXD is at nothing with it.
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

// changeSnapshot is look for what takes LXD long.
func (s *Snapshots) changeSnapshot(ctx context.Context, at engine.LXDPlace, m engine.Machine, act func(*session, api.Instance) error) error {
	var found api.Instance
	err := s.withIdleInstance(ctx, at, m, func(_ *session, i api.Instance) error { found = i; return nil })
	if err != nil {
		return err
	}
	return s.withSession(ctx, at, snapshotTimeout, func(on *session) error { return act(on, found) })
}

// withSession acts in a session with an LXD.
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

// explainSnapshotError is explain, where no repetition mends what LXD began and could not do.
func explainSnapshotError(s *session, err error) error {
	failed, ok := errors.AsType[*operationError](err)
	if !ok {
		return s.explainError(err)
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the LXD at %s says: %s", s.target.address, shortMessage(failed.message)),
		Hint:    "See LXD's log on the host. With ZFS, LXD restores the latest snapshot alone, unless zfs.remove_snapshots is set for the volume.", Err: engine.ErrUnavailable,
	}
}

// findInstance finds the instance of a machine in the project by the MACs: MAAS does not tell
// its name of each VM. A copy may have them, too, but not the time of its making.
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
			Hint:    "If somebody moved or deleted it in LXD, run terraform plan first: it tells what became of the VM.", Err: engine.ErrConflict,
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

// awaitIdleInstance waits for what LXD does with an instance: a snapshot that is being taken for
// somebody who lost the reply is listed before it is whole.
func awaitIdleInstance(s *session, instance string) error {
	var operations map[string][]api.Operation
	if _, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "operations"), &operations); err != nil {
		return err
	}
	for _, o := range operations["running"] {
		about := func(u string) bool { // of a snapshot that is deleted, "/1.0/instances/web/s1"
			name, _, _ := strings.Cut(strings.TrimPrefix(u, "/1.0/instances/"), "/")
			return nameInURL(name) == instance
		}
		if o.Class != api.OperationClassTask || !slices.ContainsFunc(o.Resources["instances"], about) {
			continue
		}
		if err := s.waitOperation(o.ID); isUnclear(err) {
			return fmt.Errorf("LXD is at another operation with %s: %w", instance, engine.ErrBusy)
		}
	}
	return nil
}
