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

// elsewhere looks on all hosts, as they are now, for an instance that is not where
// it was: it was moved. It goes by the MACs, or, where none are known, by the mark,
// and by the name. ok is false if it is nowhere; while a host does not say what it
// has, nobody knows that, and it is an error; as is what may be a copy.
func (c *Composer) elsewhere(ctx context.Context, at place, marks []string) (found place, ok bool, err error) {
	c.fleet.anew(c.Now())
	all, err := c.inventory(ctx)
	if err != nil {
		return place{}, false, err
	}
	places := all.places(at.macs, marks...)
	switch {
	case len(places) == 0:
		return place{}, false, all.hidden(at.instance)
	case slices.ContainsFunc(places, at.same):
		return place{}, false, fmt.Errorf("the instance %s has just come to be: %w", at.instance, engine.ErrBusy)
	case !at.movedTo(places):
		return place{}, false, mayBeCopies(at, places)
	}
	return places[0], true, nil
}

// movedTo tells that an instance is in the one place that there is: a move keeps
// the name, and leaves nothing behind.
func (p place) movedTo(places []place) bool {
	return len(places) == 1 && places[0].instance == p.instance
}

// mayBeCopies is the refusal to take one of several instances, or one of another
// name, for one that is not where it was. A copy has the MACs and the marks, too.
func mayBeCopies(at place, places []place) error {
	there := make([]string, len(places))
	for n, p := range places {
		there[n] = fmt.Sprintf("%s of project %s on host %s", p.instance, p.server.Project, p.server.Name)
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the instance %s of project %s is not on host %s any more, and what has its MAC may be copies: %s",
			at.instance, at.server.Project, at.server.Name, strings.Join(there, "; ")),
		Hint: "Give each copy a MAC of its own (lxc config device set), or delete it; move the VM itself back to its host and its name (lxc move).", Err: engine.ErrConflict,
	}
}

// same tells that two places are the same instance.
func (p place) same(other place) bool {
	return p.server.MachineID == other.server.MachineID && p.server.Project == other.server.Project && p.instance == other.instance
}

// hidden says on which hosts an instance may be that none of the others has; nil
// where all say what they have.
func (i *inventory) hidden(name string) error {
	return i.silentAmong(func(seen) bool { return true }, func(hosts string) string {
		return fmt.Sprintf("the instance %s is not where it was, and may have moved to %s, whose LXD does not say what it has", name, hosts)
	})
}

// silentAmong is the error of hosts that do not say what they have, in the words
// that say makes of their names; nil where all that matter do.
func (i *inventory) silentAmong(matters func(seen) bool, say func(hosts string) string) error {
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
		Hint: fmt.Sprintf("Bring it back, and try again. If it will not come back, it must no longer count as a host: take the tag %s off machine %s in MAAS.",
			engine.HostTag, strings.Join(machines, ", ")),
	}
}

// marked tells that an instance has one of the marks.
func (i instance) marked(marks []string) bool {
	return i.marker != "" && slices.Contains(marks, i.marker)
}

// otherInstance is the refusal of an instance that has the name of a machine's, and
// is not it.
type otherInstance struct{ refusal *engine.Refusal }

func (o *otherInstance) Error() string { return o.refusal.Error() }
func (o *otherInstance) Unwrap() error { return o.refusal }

// otherMAC says that an instance is not the one that a machine stands for.
func (s *session) otherMAC(i api.Instance, macs []string) error {
	return &otherInstance{&engine.Refusal{
		Message: fmt.Sprintf("the instance %s of project %s in the LXD at %s is not the machine's: its MAC is %s, and not %s",
			i.Name, s.target.project, s.target.address, strings.Join(macsOf(i), ", "), strings.Join(macs, ", ")),
		Hint: "If it is, correct the machine's MAC in MAAS; if not, delete the machine in MAAS, which leaves the instance.", Err: engine.ErrConflict,
	}}
}

// notThere tells that the instance of a machine is not where it was.
func notThere(err error) bool {
	_, other := errors.AsType[*otherInstance](err)
	return other || isStatus(err, http.StatusNotFound)
}
