// Package setup prepares a running LXD as a host of VMs. The program's init-host applies
// it, and its check inspects it.
//
// Settings that are usable stay. A different setting is refused, and then nothing is
// changed.
package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// Options say what Apply may change. The zero value makes what is missing.
type Options struct {
	// DryRun inspects everything and changes nothing.
	DryRun bool
	// ChangeListen lets Apply move the address of an LXD that listens elsewhere. Otherwise
	// that is refused.
	ChangeListen bool
	// ChangeTimeout is how long Apply waits until an accepted change shows; 0: 2 minutes.
	// LXD up to 6.5 answers when the change is done, newer versions before that.
	ChangeTimeout time.Duration
}

// Apply prepares a running LXD as a host of VMs, over a connection with all rights: see
// Local. It keeps what is usable, makes what is missing, and never changes anything in use.
// It installs nothing, restarts nothing, and never resizes a pool.
//
// If something exists with other settings, nothing at all is changed. Then the error joins
// an *engine.Refusal for each such thing. A *cloudinit.FieldError names a setting that
// cannot work.
//
// You can repeat Apply, and several processes may run it at once: one of them makes a
// thing, and all of them find it. After an error, the next run continues. LXD listens on
// the network only when everything else is in place.
func Apply(ctx context.Context, conn client.InstanceServer, host cloudinit.Host, o Options) (Report, error) {
	setup, err := host.Setup()
	if err != nil {
		return Report{}, err
	}
	a := applier{ctx: ctx, conn: conn, setup: setup, Options: o}
	if a.ChangeTimeout == 0 {
		a.ChangeTimeout = 2 * time.Minute
	}
	report, err := a.inspectParts()
	if err != nil {
		return report, err
	}
	if err := report.refusedError(); err != nil || o.DryRun {
		return report, err
	}
	for n, p := range a.allParts() {
		if report.Steps[n].Verdict == Keep {
			continue
		}
		if report.Steps[n], err = a.applyPart(p); err != nil {
			return report, err
		}
	}
	return report, nil
}

// applier is one run of Apply.
type applier struct {
	ctx   context.Context
	conn  client.InstanceServer
	setup cloudinit.Setup
	Options
}

// part is one thing that the host needs. It inspects the thing, and returns what is to be
// done and how.
type part func() (finding, error)

type finding struct {
	Step
	apply func() error // for Make and Change
}

// allParts returns all parts, each after the parts that it needs. Listening comes last, so
// that clients from outside find the host complete.
func (a *applier) allParts() []part {
	var all []part
	for _, i := range a.setup.Interfaces {
		all = append(all, a.interfacePart(i))
	}
	for _, p := range a.setup.StoragePools {
		all = append(all, a.poolPart(p))
	}
	for _, n := range a.setup.Networks {
		all = append(all, a.networkPart(n))
	}
	all = append(all, a.projectPart(a.setup.Project), a.profilePart(a.setup.Profile))
	for _, c := range a.setup.Certificates {
		all = append(all, a.trustPart(c))
	}
	return append(all, a.listenPart())
}

// inspectParts inspects every part.
func (a *applier) inspectParts() (Report, error) {
	server, _, err := a.conn.GetServer()
	if err != nil {
		return Report{}, a.callError("LXD", err)
	}
	report := Report{Version: server.Environment.ServerVersion}
	if err := checkUsable(server); err != nil {
		return report, err
	}
	if !runsVMs(server) {
		report.Notes = append(report.Notes, "LXD cannot run virtual machines here: check that /dev/kvm exists, and what LXD's log says about qemu")
	}
	for _, p := range a.allParts() {
		f, err := p()
		if err != nil {
			return report, a.callError(f.Object, err)
		}
		report.Steps = append(report.Steps, f.Step)
	}
	return report, nil
}

// runsVMs reports whether LXD has found everything that VMs need.
func runsVMs(server *api.Server) bool { return strings.Contains(server.Environment.Driver, "qemu") }

// checkUsable refuses an LXD that Apply cannot set up.
func checkUsable(server *api.Server) error {
	refuse := func(message, hint string) error {
		return &engine.Refusal{Message: message, Hint: hint, Err: engine.ErrConflict}
	}
	switch {
	case !lxd.IsTrusted(server):
		return refuse("LXD lets this user connect, but not change anything", "Run it as root, over LXD's own socket.")
	case server.Environment.ServerClustered:
		return refuse("this LXD is a member of a cluster: its pools and networks must be made on all members together",
			"Set the cluster up with LXD's own means.")
	}
	if extension := lxd.MissingExtension(server); extension != "" {
		return refuse(fmt.Sprintf("LXD %s is too old: LXD %s or newer is needed (it lacks the API extension %s)", server.Environment.ServerVersion, lxd.OldestVersion, extension),
			"Install LXD 5.0 or newer (snap refresh lxd --channel=5.21/stable).")
	}
	return nil
}

// maxRaces bounds how often another process may change the same thing between inspection
// and change. recheckPause is the pause between two inspections.
const (
	maxRaces     = 8
	recheckPause = 100 * time.Millisecond
)

// applyPart makes one part as it is wanted, and inspects it again to learn the result.
// Answers do not suffice: LXD can save a change and answer with an error, or answer before
// it is done. Another process may also have made the same change.
func (a *applier) applyPart(p part) (Step, error) {
	for race := 1; ; race++ {
		f, err := p()
		switch {
		case err != nil:
			return f.Step, a.callError(f.Object, err)
		case f.Verdict == Keep:
			return f.Step, nil
		case f.Verdict == Refuse:
			return f.Step, f.refusalError()
		}
		failure := f.apply()
		after, err := a.awaitPart(p, failure == nil)
		switch {
		case err != nil:
			return f.Step, a.callError(f.Object, err)
		case after.Verdict == Keep && failure != nil && isConcurrentChange(failure):
			return after.Step, nil // another process made it
		case after.Verdict == Keep:
			f.Done = true
			return f.Step, nil
		case failure == nil:
			return f.Step, hostUnavailableError(engine.ErrUnavailable, fmt.Sprintf("%s: LXD accepted the change, but does not show it after %s", f.Object, a.ChangeTimeout),
				"See LXD's log and `lxc operation list`, then run this again.")
		case !isConcurrentChange(failure) || race == maxRaces:
			return f.Step, a.callError(f.Object, failure)
		}
	}
}

// awaitPart inspects until the part is as wanted. If wait is false, it inspects only once.
func (a *applier) awaitPart(p part, wait bool) (finding, error) {
	end := time.Now().Add(a.ChangeTimeout)
	for {
		f, err := p()
		if err != nil || f.Verdict == Keep || !wait || !time.Now().Before(end) {
			return f, err
		}
		select {
		case <-a.ctx.Done():
			return f, a.ctx.Err()
		case <-time.After(recheckPause):
		}
	}
}

// isConcurrentChange reports whether another process was faster.
func isConcurrentChange(err error) bool {
	return api.StatusErrorCheck(err, http.StatusConflict, http.StatusPreconditionFailed)
}

// callError says at which object a call failed. It quotes LXD: a user with all rights on
// this LXD may read its messages.
func (a *applier) callError(object string, err error) error {
	if object == "" {
		object = "LXD"
	}
	if ctxErr := a.ctx.Err(); ctxErr != nil {
		return fmt.Errorf("%s: given up before LXD answered: %w", object, ctxErr)
	}
	hint := "See LXD's log (journalctl -u snap.lxd.daemon), and run this again."
	if api.StatusErrorCheck(err, http.StatusForbidden) {
		hint = "Run it as root, over LXD's own socket."
	}
	return &engine.Error{Type: engine.HostUnavailable, Message: object + ": LXD refused: " + errorLine(err), Hint: hint, Err: causeOf(err)}
}

// hostUnavailableError says that an LXD cannot be set up now.
func hostUnavailableError(cause error, message, hint string) error {
	return &engine.Error{Type: engine.HostUnavailable, Message: message, Hint: hint, Err: cause}
}

// causeOf returns the engine's sentinel for an answer of LXD, or for no answer.
func causeOf(err error) error {
	status, answered := api.StatusErrorMatch(err)
	switch {
	case !answered || status >= http.StatusInternalServerError:
		return engine.ErrUnavailable
	case status == http.StatusForbidden:
		return engine.ErrForbidden
	case status == http.StatusConflict:
		return engine.ErrConflict
	}
	return engine.ErrInvalid
}

// maxErrorBytes bounds a quoted error of LXD, in bytes.
const maxErrorBytes = 400

// errorLine returns the text of an error on one line.
func errorLine(err error) string { return shorten(err.Error()) }

func shorten(text string) string { return bounded.TruncateText(bounded.OneLine(text), maxErrorBytes) }

// isNotFound reports that LXD has no such object. Its project may be missing too.
func isNotFound(err error) bool {
	return errors.Is(err, engine.ErrNotFound) || api.StatusErrorCheck(err, http.StatusNotFound)
}
