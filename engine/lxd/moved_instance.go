package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// findMovedInstance searches all hosts, read again, for an instance that is no longer where
// it was. It searches by MAC, or by mark if no MACs are known, and by name.
//
// ok is false if the instance is on no host. It is an error if a host does not show its
// instances, or if the match may be a copy.
func (c *Composer) findMovedInstance(ctx context.Context, at location, marks []string) (found location, ok bool, err error) {
	c.cache.expireAll(c.Now())
	all, err := c.currentInventory(ctx)
	if err != nil {
		return location{}, false, err
	}
	return all.findMovedInstance(at, marks)
}

// findMovedInstance is that of the Composer, in an inventory as it is.
func (i *inventory) findMovedInstance(at location, marks []string) (found location, ok bool, err error) {
	places := i.findLocations(at.macs, marks...)
	switch {
	case len(places) == 0:
		return location{}, false, i.mayBeElsewhereError(at.instance)
	case slices.ContainsFunc(places, at.isSameInstance):
		return location{}, false, fmt.Errorf("the instance %s has just appeared: %w", at.instance, engine.ErrBusy)
	case !at.hasMovedTo(places):
		return location{}, false, possibleCopiesError(at, places)
	}
	return places[0], true, nil
}

// hasMovedTo reports whether an instance has moved to the one location found. A move keeps
// the name and leaves no instance behind.
func (p location) hasMovedTo(places []location) bool {
	return len(places) == 1 && places[0].instance == p.instance
}

// possibleCopiesError refuses to choose one of several instances, or one with another name,
// for an instance that is not where it was. A copy has the MACs and the marks too.
func possibleCopiesError(at location, places []location) error {
	there := make([]string, len(places))
	for n, p := range places {
		there[n] = fmt.Sprintf("%s of project %s on host %s", p.instance, p.server.Project, p.server.Name)
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the instance %s of project %s is not on host %s any more, and these instances with its MAC may be copies: %s",
			at.instance, at.server.Project, at.server.Name, strings.Join(there, "; ")),
		Hint: "Give each copy a MAC of its own (lxc config device set), or delete it; move the VM itself back to its host and its name (lxc move).", Err: engine.ErrConflict,
	}
}

// isSameInstance reports whether two locations are of the same instance.
func (p location) isSameInstance(other location) bool {
	return p.server.MachineID == other.server.MachineID && p.server.Project == other.server.Project && p.instance == other.instance
}

// mayBeElsewhereError names the hosts that an instance may have moved to, because they do
// not show their instances. It is nil if all hosts show theirs.
func (i *inventory) mayBeElsewhereError(name string) error {
	return i.silentHostsError(func(serverSurvey) bool { return true }, func(hosts string) string {
		return fmt.Sprintf("the instance %s is not where it was, and may have moved to %s, where LXD does not show its instances", name, hosts)
	})
}

// silentHostsError is the error of hosts that matter and do not show what they have. say
// makes the message from their names. It is nil if all hosts that matter have answered.
func (i *inventory) silentHostsError(matters func(serverSurvey) bool, say func(hosts string) string) error {
	var hosts, machines []string
	var cause error
	for _, h := range i.hosts {
		if h.err != nil && matters(h) {
			hosts, machines = append(hosts, h.Name), append(machines, h.MachineID)
			if cause == nil {
				cause = h.err
			}
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	word := "host"
	if len(hosts) > 1 {
		word = "hosts"
	}
	return &engine.Error{
		Type: engine.HostUnavailable, Err: fmt.Errorf("%w: %v", engine.ErrUnavailable, cause),
		Message: say(word + " " + strings.Join(hosts, ", ")),
		Hint: fmt.Sprintf("Bring it back, and try again. If it will not come back, remove the tag %s from machine %s in MAAS, so that it is no longer a host.",
			engine.HostTag, strings.Join(machines, ", ")),
	}
}

// hasMark reports whether an instance has one of the marks.
func (i instance) hasMark(marks []string) bool {
	return i.marker != "" && slices.Contains(marks, i.marker)
}

// otherInstanceError refuses an instance that has the name of a machine's instance, but is
// a different one.
type otherInstanceError struct{ refusal *engine.Refusal }

func (o *otherInstanceError) Error() string { return o.refusal.Error() }
func (o *otherInstanceError) Unwrap() error { return o.refusal }

// otherMACError says that an instance does not belong to the machine.
func (s *session) otherMACError(i api.Instance, macs []string) error {
	return &otherInstanceError{&engine.Refusal{
		Message: fmt.Sprintf("the instance %s of project %s in the LXD at %s is not the machine's: its MAC is %s, and not %s",
			i.Name, s.target.project, s.target.address, strings.Join(instanceMACs(i), ", "), strings.Join(macs, ", ")),
		Hint: "If it is the machine's, correct the machine's MAC in MAAS. If not, delete the machine in MAAS: the instance stays.", Err: engine.ErrConflict,
	}}
}

// isInstanceMissing reports whether the instance of a machine is not where it was.
func isInstanceMissing(err error) bool {
	_, other := errors.AsType[*otherInstanceError](err)
	return other || isStatus(err, http.StatusNotFound)
}
