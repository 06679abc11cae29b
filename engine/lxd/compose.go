package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// Compose implements engine.Composer. You may repeat it: it continues with an instance of
// this name that was made for the same key.
func (c *Composer) Compose(ctx context.Context, host engine.VMHost, comp engine.Composition) (string, error) {
	p, leftovers, err := c.prepareCompose(ctx, host, comp)
	if err != nil {
		return "", err
	}
	h := p.host
	s, done, err := c.openSession(ctx, h.Server, c.ChangeTimeout)
	if err != nil {
		return "", err
	}
	defer done()
	if err := c.fingerprints.record(ctx, s, h.Server); err != nil {
		return "", err
	}
	if comp.BeforeSend != nil {
		if err := comp.BeforeSend(ctx); err != nil {
			return "", err
		}
	}
	defer c.cache.noteChange(h.MachineID)
	c.cleaner.removeLeftovers(ctx, leftovers)
	newborn, err := s.ensureVM(&p)
	if err != nil {
		return "", hostError(s.explainError(err), h.Name)
	}
	systemID, failure := c.enlistInstance(s.ctx, s, &p) // all steps within ChangeTimeout
	if failure != nil {
		return "", c.undoCompose(ctx, p, newborn, failure)
	}
	c.knownLocations.Store(systemID, p.location())
	c.Log.InfoContext(ctx, "made instance and enlisted it", "name", comp.Hostname, "host", h.Name, "system_id", systemID)
	return systemID, nil
}

// prepareCompose plans what to make on a host. It also lists the leftovers of earlier
// attempts on other hosts.
func (c *Composer) prepareCompose(ctx context.Context, host engine.VMHost, comp engine.Composition) (p plan, leftovers []instanceMatch, err error) {
	all, err := c.inventoryForHost(ctx, host)
	if err != nil {
		return plan{}, nil, err
	}
	h, err := all.surveyOf(host)
	if err != nil {
		return plan{}, nil, err
	}
	if p, err = h.planVM(comp, all.takenMACs(comp.Marker)); err != nil {
		return plan{}, nil, err
	}
	p.post.Config[birthTimeConfig] = formatBirthTime(c.Now()) // before the ledger notes the start of the compose
	p.isOfRenamedVM = func(macs []string) (bool, error) {
		return isOfRenamedMachine(ctx, c.Enlister, p.post.Name, comp.Hostname, macs)
	}
	leftovers, err = c.cleaner.listLeftovers(ctx, all, h, comp)
	return p, leftovers, err
}

// inventoryForHost returns an inventory that shows what the LXD of a host has for new VMs.
// VMs that were made since do not matter.
func (c *Composer) inventoryForHost(ctx context.Context, host engine.VMHost) (*inventory, error) {
	if last := c.cache.lastInventory(); last != nil {
		if h, err := last.surveyOf(host); err == nil && c.Now().Sub(h.askedAt) < inventoryTTL {
			return last, nil
		}
	}
	return c.currentInventory(ctx)
}

// undoCompose removes a new instance that MAAS refused, and returns the failure. It keeps
// the instance if another process has enlisted it meanwhile. A machine with the same MAC
// and another owner does not count. undoCompose has its own deadline, because the compose
// may have failed at its deadline.
func (c *Composer) undoCompose(ctx context.Context, p plan, newborn bool, failure error) error {
	if errors.Is(failure, engine.ErrUnclear) || !newborn {
		return failure
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	machines, err := c.Enlister.MachinesWithMACs(ctx, p.macs...)
	if err == nil && slices.ContainsFunc(machines, p.ownsMachine) {
		return failure
	}
	if err == nil {
		err = c.removeMadeInstance(ctx, p, c.Timeout)
	}
	if err == nil {
		return failure
	}
	return &leftoverError{fmt.Errorf("%w; and its instance %s is left in the LXD of host %s: %w", failure, p.post.Name, p.host.Name, err)}
}

// leftoverError is a compose that failed clearly but left something behind. While someone
// may have to remove it, the ledger must not forget the compose.
type leftoverError struct{ err error }

func (e *leftoverError) Error() string        { return e.err.Error() }
func (e *leftoverError) Unwrap() error        { return e.err }
func (e *leftoverError) Is(target error) bool { return target == engine.ErrUnclear }

// isOfRenamedMachine reports whether the instance belongs to a machine that has another
// hostname now. A machine that only shares one of its MACs belongs to another instance.
func isOfRenamedMachine(ctx context.Context, enlister engine.Enlister, instance, hostname string, macs []string) (bool, error) {
	machines, err := enlister.MachinesWithMACs(ctx, macs...)
	if err != nil {
		return false, err
	}
	for _, m := range machines {
		if m.Hostname == hostname {
			continue
		}
		switch power, err := enlister.PowerInstanceOf(ctx, m.SystemID); {
		case errors.Is(err, engine.ErrNotFound): // no instance, or it is gone by now
		case err != nil:
			return false, err
		case power.Name == instance:
			return true, nil
		}
	}
	return false, nil
}

// ownsMachine reports whether a machine was made from the instance of this plan.
func (p plan) ownsMachine(m engine.Machine) bool {
	return p.comp.Key != "" && m.MarkedBy() == p.comp.Key
}

// removeMadeInstance removes the instance of a plan.
func (d *dialer) removeMadeInstance(ctx context.Context, p plan, timeout time.Duration) error {
	s, done, err := d.openSession(ctx, p.host.Server, timeout)
	if err != nil {
		return err
	}
	defer done()
	if err := s.removeInstance(p.post.Name, p.macs); err != nil {
		return hostError(s.explainError(err), p.host.Name)
	}
	return nil
}

// takenMACs returns the MACs of all instances, except unfinished ones with this marker,
// with which Compose may continue. A copy has the same MACs, and is never unfinished.
func (i *inventory) takenMACs(marker string) map[string]bool {
	taken := map[string]bool{}
	for _, h := range i.hosts {
		for _, instance := range h.instances {
			for _, mac := range instance.macs {
				if instance.marker != marker || !instance.isUnfinished() {
					taken[mac] = true
				}
			}
		}
	}
	return taken
}

// ensureVM makes the volumes and the instance, or finds them. newborn reports that the
// instance never ran.
func (s *session) ensureVM(p *plan) (newborn bool, err error) {
	for n, v := range p.volumes {
		if err := s.ensureVolume(p, v); err != nil {
			return false, s.cleanupError(err, s.dropVolumes(p.volumes[:n]))
		}
	}
	return s.ensureInstance(p, 2)
}

// ensureInstance makes the instance. LXD accepts each name once, so the request may be
// repeated after a lost answer.
func (s *session) ensureInstance(p *plan, tries int) (newborn bool, err error) {
	failure := s.send(http.MethodPost, s.projectPath("instances"), p.post, "")
	if failure == nil {
		return true, nil
	}
	// Another process may be making the same VM. LXD refuses the name before the instance
	// appears.
	if err := s.awaitInstanceOperations(p.post.Name); err != nil && isUnclear(failure) {
		return false, failure
	}
	var found api.Instance
	_, err = s.get(s.projectPath("instances", p.post.Name), &found)
	switch absent := isStatus(err, http.StatusNotFound); {
	case absent && isUnclear(failure) && tries > 1:
		return s.ensureInstance(p, tries-1)
	case absent:
		return false, s.cleanupError(failure, s.dropVolumes(p.volumes))
	case err != nil && isUnclear(failure):
		return false, failure
	case err != nil:
		return false, &unclearError{err}
	}
	return s.resumeCompose(p, found)
}

// cleanupError adds to a failure what could not be removed after it.
func (s *session) cleanupError(failure, left error) error {
	if left == nil {
		return failure
	}
	return fmt.Errorf("%w; and besides, %w", s.explainError(failure), s.explainError(left))
}

// awaitInstanceOperations waits for the operations on an instance whose answers were lost.
func (s *session) awaitInstanceOperations(name string) error {
	running := map[string][]api.Operation{}
	if _, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "operations"), &running); err != nil {
		return err
	}
	for _, operations := range running {
		for _, op := range operations {
			if !slices.ContainsFunc(op.Resources["instances"], func(u string) bool { return nameInURL(u) == name }) {
				continue
			}
			if err := s.waitOperation(op.ID); isUnclear(err) {
				return err
			}
		}
	}
	return nil
}

// resumeCompose continues with an existing instance, if it is certainly one that we began.
func (s *session) resumeCompose(p *plan, i api.Instance) (newborn bool, err error) {
	found := newInstance(i, s.target.project)
	switch {
	case found.marker != p.comp.Marker:
		return false, s.cleanupError(foreignInstanceError(p, i), s.dropVolumes(p.volumes))
	case !found.isUnfinished():
		return false, found.existingInstanceError(p.host.Name)
	}
	// A VM that was renamed in MAAS keeps the name of its instance.
	switch other, err := p.isOfRenamedVM(found.macs); {
	case err != nil:
		return false, err
	case other:
		return false, foreignInstanceError(p, i)
	}
	if p.describeDifference(i) == "" {
		p.useMACsOf(i)
		return true, nil
	}
	if err := s.removeInstance(i.Name, instanceMACs(i), i.Config[markerConfig]); err != nil {
		return false, err
	}
	return s.ensureVM(p)
}

func foreignInstanceError(p *plan, i api.Instance) error {
	whose := "without a mark of this program"
	if key := i.Config[keyConfig]; key != "" {
		whose = "made for " + key
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the LXD of host %s has an instance %s already, %s", p.host.Name, i.Name, whose),
		Hint:    "Choose another name, or another host; or delete that instance on the host, if nobody needs it.", Err: engine.ErrConflict,
	}
}
