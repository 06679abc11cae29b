package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
)

const aboutBackup = `Copies all that the service's ledger has into a file of SQLite, while the service
runs. Run it on the service's machine, as its user.`

const aboutRestore = `Copies a backup into the ledger of a new service, which must be empty: the rows, and
the clients of a cluster. Those of a service on a file are in its folder "clients". It refuses a backup in which MAAS may still be composing.`

// backUpLedger is the command backup.
func backUpLedger(ctx context.Context, p setting.Program) (err error) {
	file, service, err := readFileAndService(p, aboutBackup)
	if err != nil {
		return err
	}
	if service.path == "" && isClusterNode(service.folder) {
		c, err := connectCluster(nodeConfig{folder: service.folder})
		if err == nil {
			err = c.Backup(ctx, file)
		}
		return err
	}
	l, err := service.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return rows.WriteBackup(ctx, l, file)
}

// restoreLedger is the command restore.
func restoreLedger(ctx context.Context, p setting.Program) (err error) {
	file, service, err := readFileAndService(p, aboutRestore)
	if err != nil {
		return err
	}
	from, err := openExistingFile(ctx, "", file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := service.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	keys, err := rows.CopyInto(ctx, from, to)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "keys restored: %d\n", keys)
	return err
}

// readFileAndService reads the file that a command names, and the service's settings.
func readFileAndService(p setting.Program, about string) (file string, service ledgerFile, err error) {
	s := setting.New(p, about)
	service.addSettings(s)
	names, rest := splitLeadingNames(p.Args)
	if err := s.ReadArgs(rest); err != nil {
		return "", service, err
	}
	file, err = requireOneName(names, "file", p.Name+" FILE …")
	return file, service, err
}

// requireOneName is the one argument that a command takes. what says of what it is the name.
func requireOneName(names []string, what, hint string) (string, error) {
	if len(names) != 1 {
		return "", &setting.UsageError{Text: "one " + what + " must be named", Hint: hint}
	}
	return names[0], nil
}
