// Package setup gives an LXD that runs already what a host of VMs is to have: what
// the program's init-host applies, and what its check looks at.
//
// What is there and serves is kept. What an LXD has otherwise is refused, and nothing
// is changed then.
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

// Options say how far Apply goes. The zero value changes what is missing.
type Options struct {
	// DryRun looks at everything, and changes nothing.
	DryRun bool
	// ChangeListen lets an LXD that listens elsewhere listen where it is asked
	// to, instead of refusing.
	ChangeListen bool
	// ChangeTimeout is how long a change that LXD has taken may take to show; 0: 2
	// minutes. LXD up to 6.5 answers when it is done, newer ones before.
	ChangeTimeout time.Duration
}

// Apply gives an LXD that runs already what the host is to have, over a
// connection that may do everything: see Local. What is there and serves is kept,
// what is missing is made, and nothing that is in use is touched: where
// something is there and otherwise, nothing at all is changed, and the error
// joins an *engine.Refusal for each such thing. It installs nothing, restarts
// nothing, and never resizes a pool.
//
// It can be repeated, and run by several at once: of those that make the same
// thing, one does, and all find it. LXD listens on the network only when
// everything else is there. What an error leaves behind, the next run goes on
// with. A *cloudinit.FieldError says which setting cannot work.
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

// part is one thing of the host. It looks what there is of it, and says what
// is to be done, and how.
type part func() (finding, error)

type finding struct {
	Step
	apply func() error // for Make and Change
}

// allParts are all of them, each after those that it needs. LXD listens last: who
// reaches it from outside finds it whole.
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

// inspectParts looks at everything.
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
		report.Notes = append(report.Notes, "LXD cannot run virtual machines here: see whether /dev/kvm is there, and what LXD's log says of qemu")
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

// runsVMs tells whether LXD has found everything that it needs for that.
func runsVMs(server *api.Server) bool { return strings.Contains(server.Environment.Driver, "qemu") }

// checkUsable refuses an LXD that cannot be set up from here.
func checkUsable(server *api.Server) error {
	refuse := func(message, hint string) error {
		return &engine.Refusal{Message: message, Hint: hint, Err: engine.ErrConflict}
	}
	switch {
	case !lxd.IsTrusted(server):
		return refuse("LXD lets this user in, but not to change anything", "Run it as root, over LXD's own socket.")
	case server.Environment.ServerClustered:
		return refuse("this LXD is a member of a cluster, whose pools and networks are made on all members together",
			"Set the cluster up with LXD's own means.")
	}
	if extension := lxd.MissingExtension(server); extension != "" {
		return refuse(fmt.Sprintf("LXD %s is too old: LXD %s or newer is needed (it lacks the API extension %s)", server.Environment.ServerVersion, lxd.OldestVersion, extension),
			"Install LXD 5.0 or newer (snap refresh lxd --channel=5.21/stable).")
	}
	return nil
}

// How often another's change of the same thing may come between a look and its
// act, and the pause between two looks.
const (
	maxRaces     = 8
	recheckPause = 100 * time.Millisecond
)

// applyPart makes one part as it is wanted. What came of an act is judged by
// looking: LXD can save a change and answer with an error, answer before it is
// done, or have been told the same by another process.
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
			return f.Step, hostUnavailableError(engine.ErrUnavailable, fmt.Sprintf("%s: LXD has taken the change, but does not show it after %s", f.Object, a.ChangeTimeout),
				"See LXD's log and `lxc operation list`, then run this again.")
		case !isConcurrentChange(failure) || race == maxRaces:
			return f.Step, a.callError(f.Object, failure)
		}
	}
}

// awaitPart looks until the part is as wanted; once, if nothing was done that
// could still show.
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

// isConcurrentChange tells whether another process came first.
func isConcurrentChange(err error) bool {
	return api.StatusErrorCheck(err, http.StatusConflict, http.StatusPreconditionFailed)
}

// callError says at what a call failed. Who may do everything with this LXD may
// read its words.
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

// hostUnavailableError is the error of an LXD that cannot be set up now.
func hostUnavailableError(cause error, message, hint string) error {
	return &engine.Error{Type: engine.HostUnavailable, Message: message, Hint: hint, Err: cause}
}

// causeOf is the sentinel of an LXD's answer, or of none.
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

// maxErrorBytes bounds what is passed on of LXD's words, in bytes.
const maxErrorBytes = 400

// errorLine is the text of an error on one line.
func errorLine(err error) string { return shorten(err.Error()) }

func shorten(text string) string { return bounded.TruncateText(bounded.OneLine(text), maxErrorBytes) }

// isNotFound tells that LXD has no such thing. The project may be missing, too.
func isNotFound(err error) bool {
	return errors.Is(err, engine.ErrNotFound) || api.StatusErrorCheck(err, http.StatusNotFound)
}
