package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/capi-bridge/attempt"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// MemoryLedger is the value of Ledger for rows in the leader's memory and in
// the annotations of the MaasMachines.
const MemoryLedger = "memory"

// LedgerFiles are the paths of the certificates and key for a ledger service.
type LedgerFiles struct{ CA, Certificate, Key string }

// addLedgerFlags adds the flags about the ledger.
func (c *commandLine) addLedgerFlags(set *pflag.FlagSet) {
	set.StringVar(&c.Ledger, "ledger", MemoryLedger, `where placements are recorded. "memory": in the leader's memory and in the annotations of the MaasMachines. https://HOST:PORT: at the service "capi-bridge ledger serve", which several management clusters can share. Give several addresses of one ledger cluster with commas between them. Anything else: in this file, on a volume that outlives the pod. The fleet's LXD key pair is first made beside the file`)
	set.StringVar(&c.LedgerFiles.CA, "ledger-ca", "", "file with the authorities that sign the ledger service's certificate; empty: the authorities that the system trusts")
	set.StringVar(&c.LedgerFiles.Certificate, "ledger-cert", "", "file with the manager's certificate for the ledger service")
	set.StringVar(&c.LedgerFiles.Key, "ledger-key", "", "file with the key of --ledger-cert")
}

// checkLedger refuses a missing ledger, and files that the ledger does not use.
func (c *commandLine) checkLedger() error {
	if c.Ledger == "" {
		return &setting.UsageError{Flag: "--ledger", Text: "no ledger is named", Hint: `Leave it out, or name the address of a ledger service or a file on a volume.`}
	}
	files := []struct{ flag, path string }{{"--ledger-ca", c.LedgerFiles.CA}, {"--ledger-cert", c.LedgerFiles.Certificate}, {"--ledger-key", c.LedgerFiles.Key}}
	for _, f := range files {
		switch isService := remote.IsAddress(c.Ledger); {
		case !isService && f.path != "":
			return &setting.UsageError{Flag: f.flag, Text: "only a ledger service needs it, and --ledger names none", Hint: "Give --ledger=https://HOST:PORT, or leave it out."}
		case isService && f.path == "" && f.flag != "--ledger-ca":
			return &setting.UsageError{Flag: f.flag, Text: "it is missing; a ledger service knows its clients by certificates", Hint: `Make one by "capi-bridge ledger client add".`}
		}
	}
	return nil
}

// hasLedgerFile reports whether the fleet's key pair can be kept beside the
// ledger.
func (o Options) hasLedgerFile() bool {
	return o.Ledger != MemoryLedger && !remote.IsAddress(o.Ledger)
}

// closesLease is the Lease that lists the VM hosts that a leader has closed.
const closesLease = "capmaas-closed-hosts"

// newRegions opens the ledger: memory, a file, or a service.
func (o Options) newRegions(ctx context.Context, mgr ctrl.Manager, election *election) (ledger.Regions, error) {
	if o.Ledger != MemoryLedger {
		regions, err := o.openLedger(ctx)
		if err == nil && election != nil {
			regions = leaderRegions{regions, election.newLeaderCheck(mgr.GetAPIReader())}
		}
		return regions, err
	}
	c := attempt.Config{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: o.Namespace, Elected: mgr.Elected(), Now: o.Now}
	if o.ManagerNamespace != "" {
		c.ClosesKey = client.ObjectKey{Namespace: o.ManagerNamespace, Name: closesLease}
	}
	if election != nil {
		c.CheckLeader = election.newLeaderCheck(mgr.GetAPIReader())
	}
	return attempt.New(c), nil
}

// leaderRegions is a ledger in which only the leader begins composes. A manager
// that was suspended during an election takes no lease of a key, so its rows
// stay valid.
type leaderRegions struct {
	ledger.Regions
	checkLeader func(context.Context) error
}

// Region implements ledger.Regions.
func (l leaderRegions) Region(name string) ledger.RegionLedger {
	return leaderLedger{l.Regions.Region(name), l.checkLeader}
}

type regionLedger = ledger.RegionLedger

// leaderLedger holds the rows of one MAAS.
type leaderLedger struct {
	regionLedger
	checkLeader func(context.Context) error
}

// Renew implements engine.Ledger. It is the last step before MAAS is asked.
// First it renews the row, so that the next leader waits. Then it checks that
// this manager still leads.
func (r leaderLedger) Renew(ctx context.Context, row engine.Row) error {
	if err := r.regionLedger.Renew(ctx, row); err != nil {
		return err
	}
	return r.checkLeader(ctx)
}

// openLedger opens a file or a service.
func (o Options) openLedger(ctx context.Context) (ledger.Regions, error) {
	if remote.IsAddress(o.Ledger) {
		return o.dialLedger(ctx)
	}
	file, err := ledger.OpenFile(ctx, o.Ledger)
	if err != nil {
		return nil, err
	}
	return ledger.LocalRegions{Ledger: file}, nil
}

// dialLedger connects to a service, which must answer. A manager that cannot
// reserve anything says so when it starts.
func (o Options) dialLedger(ctx context.Context) (ledger.Regions, error) {
	config := remote.Config{Address: o.Ledger, Version: o.Version, Files: remote.Files(o.LedgerFiles)}
	for _, f := range []struct {
		flag, path string
		to         *string
	}{
		{"--ledger-ca", o.LedgerFiles.CA, &config.CA}, {"--ledger-cert", o.LedgerFiles.Certificate, &config.Certificate}, {"--ledger-key", o.LedgerFiles.Key, &config.Key},
	} {
		if f.path == "" {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			return nil, &setting.UsageError{Flag: f.flag, Text: fmt.Sprintf("it cannot be read: %v", err), Hint: "Name a file in PEM that the manager may read."}
		}
		*f.to = string(text)
	}
	client, err := remote.New(config)
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		return nil, &setting.UsageError{Flag: "--" + strings.ReplaceAll(spec.Field.RootName(), "_", "-"), Text: spec.Message, Hint: spec.Hint}
	}
	if err != nil {
		return nil, err
	}
	if _, err := client.Check(ctx); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}
