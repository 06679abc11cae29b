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

// backup is the command backup.
func backup(ctx context.Context, p setting.Program) (err error) {
	file, service, err := fileAndService(p, aboutBackup)
	if err != nil {
		return err
	}
	if service.path == "" && inCluster(service.folder) {
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
	return rows.Backup(ctx, l, file)
}

// restore is the command restore.
func restore(ctx context.Context, p setting.Program) (err error) {
	file, service, err := fileAndService(p, aboutRestore)
	if err != nil {
		return err
	}
	from, err := openThere(ctx, "", file)
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

// fileAndService reads the file that a command names, and the service's settings.
func fileAndService(p setting.Program, about string) (file string, service ledgerFile, err error) {
	s := setting.New(p, about)
	service.settings(s)
	names, rest := leading(p.Args)
	if err := s.ReadArgs(rest); err != nil {
		return "", service, err
	}
	file, err = onlyName(names, "file", p.Name+" FILE …")
	return file, service, err
}

// onlyName is the one argument that a command takes. what says of what it is the name.
func onlyName(names []string, what, hint string) (string, error) {
	if len(names) != 1 {
		return "", &setting.UsageError{Text: "one " + what + " must be named", Hint: hint}
	}
	return names[0], nil
}
