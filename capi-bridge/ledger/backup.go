package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
)

const aboutBackup = `Copies the whole ledger of the service into a file of SQLite, while the service
runs. Run it on the service's machine, as its user.`

const aboutRestore = `Copies a backup into the empty ledger of a new service: the rows, and the clients of
a cluster. The clients of a service on a file are in its folder "clients": copy that, too.
It refuses a backup that was made while MAAS was composing a VM.`

// backUpLedger runs the command backup.
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

// restoreLedger runs the command restore.
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
	_, err = fmt.Fprintf(p.Stdout, "rows restored: %d\n", keys)
	return err
}

// readFileAndService reads the file name and the service's settings from the
// arguments.
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

// requireOneName returns the command's only argument. what describes what it
// names.
func requireOneName(names []string, what, hint string) (string, error) {
	if len(names) != 1 {
		return "", &setting.UsageError{Text: "name exactly one " + what, Hint: hint}
	}
	return names[0], nil
}
