// Package inithost is the command that makes an LXD host of a running node. It
// does what cloud-init does at a first boot, over LXD's local socket.
package inithost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd/setup"
)

const aboutInitHost = `
Sets up the LXD of this node for VMs. It makes a storage pool and a project with a
profile, and trusts the certificate of a fleet for that project alone. It talks to
LXD's local socket, installs nothing and restarts nothing. It keeps existing objects
that serve. If an existing object conflicts with the settings, it names the object
and changes nothing (status 3). You can repeat it.`

// options are those of the command besides the host's.
type options struct {
	setting.Host
	dryRun       bool
	changeListen bool
	interval     time.Duration
	timeout      time.Duration
}

func (o *options) settings(p setting.Program) *setting.Settings {
	s := setting.New(p, aboutInitHost)
	o.AddSettings(s)
	s.AddSwitch(&o.changeListen, "change-listen-address", "CHANGE_LISTEN_ADDRESS", "allow changing the address of an LXD that listens elsewhere")
	s.AddSwitch(&o.dryRun, "dry-run", "DRY_RUN", "print the changes, and make none")
	s.AddDuration(&o.interval, "interval", "INTERVAL", 0, "keep running, and check again after this time; for a DaemonSet")
	s.AddTimeout(&o.timeout, 10*time.Minute)
	return s
}

// Run sets up the node's LXD.
func Run(ctx context.Context, p setting.Program) error {
	var o options
	if err := o.settings(p).Read(); err != nil {
		return err
	}
	host, err := o.Host.Build()
	if err != nil {
		return err
	}
	if len(host.TrustedCertificates) == 0 {
		return &setting.UsageError{Flag: "--trusted-certificate", Text: "it is missing; without it nobody could use the host",
			Hint: "Give the public certificate of the fleet (TRUSTED_CERTIFICATE), as PEM text or the path of a file."}
	}
	o.Socket = cmp.Or(o.Socket, setup.FindSocket(p.Getenv))
	if o.Node == "" {
		o.Node, _ = os.Hostname()
	}
	o.warnUnusedVariables(p)
	for first := true; ; first = false {
		err := o.applyOnce(ctx, p, host, first)
		switch {
		case o.interval == 0:
			return err
		case ctx.Err() != nil:
			return nil // a process that keeps running ends without failure when it is stopped
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.interval):
		}
	}
}

// warnUnusedVariables warns of variables of former initializers. The fleet's
// manager registers the node in MAAS, and MAAS's key must not be on the node.
func (o *options) warnUnusedVariables(p setting.Program) {
	for _, name := range []string{"MAAS_API_KEY", "MAAS_ENDPOINT", "ZONE", "RESOURCE_POOL"} {
		if p.Getenv(name) != "" {
			fmt.Fprintf(p.Stderr, "%s: %s is not used, because the fleet's manager registers the node in MAAS; remove it from this node\n", o.Node, name)
		}
	}
}

// applyOnce sets up the host, and prints the result. Later rounds print only
// changes.
func (o *options) applyOnce(ctx context.Context, p setting.Program, host cloudinit.Host, aloud bool) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	conn, err := setup.ConnectLocal(ctx, o.Socket, "capi-bridge/"+p.Version)
	if err != nil {
		return err
	}
	report, err := setup.Apply(ctx, conn, host, setup.Options{DryRun: o.dryRun, ChangeListen: o.changeListen})
	if aloud || err != nil || report.ChangedCount() > 0 || report.OpenCount() > 0 {
		o.printReport(p.Stdout, report, err)
	}
	refusal := (*engine.Refusal)(nil)
	if errors.As(err, &refusal) && len(report.Steps) > 0 {
		return fmt.Errorf("%w: %w", setting.ErrRefused, err)
	}
	return err
}

func (o *options) printReport(w io.Writer, r setup.Report, err error) {
	fmt.Fprintf(w, "%s: LXD %s at %s\n", o.Node, cmp.Or(r.Version, "of an unknown version"), o.Socket)
	refused := false
	for _, s := range r.Steps {
		word := o.verdictWord(s)
		if err != nil && s.Verdict != setup.Keep && s.Verdict != setup.Refuse && !s.Done {
			word = "not " + pastTense[s.Verdict]
		}
		fmt.Fprintf(w, "  %-12s %s: %s\n", word, s.Object, s.Detail)
		if s.Verdict == setup.Refuse {
			refused = true
			fmt.Fprintf(w, "  %-12s %s\n", "", s.Hint)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "  %-12s %s\n", "note", note)
	}
	fmt.Fprintf(w, "%s: %s\n", o.Node, o.summary(r, err, refused))
}

// pastTense holds the words for finished changes.
var pastTense = map[setup.Verdict]string{setup.Make: "made", setup.Change: "changed"}

func (o *options) verdictWord(s setup.Step) string {
	switch {
	case s.Verdict == setup.Keep:
		return "kept"
	case s.Verdict == setup.Refuse:
		return "refused"
	case s.Done:
		return pastTense[s.Verdict]
	}
	return "would " + string(s.Verdict)
}

func (o *options) summary(r setup.Report, err error, refused bool) string {
	switch {
	case refused && r.ChangedCount() == 0:
		return "refused; nothing was changed"
	case err != nil:
		return fmt.Sprintf("not finished; %d made or changed, run it again", r.ChangedCount())
	case r.OpenCount() > 0:
		return fmt.Sprintf("would make or change %d; did nothing", r.OpenCount())
	case r.ChangedCount() > 0:
		return fmt.Sprintf("done; %d made or changed", r.ChangedCount())
	}
	return "nothing to do"
}
