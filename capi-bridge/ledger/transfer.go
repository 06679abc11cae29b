package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

const aboutImport = `Moves the rows of a file into the ledger of a service. Nothing may use the file
meanwhile. It refuses while a run lives or MAAS may be composing, and if both ledgers
have different rows of a key. Repeat an interrupted import before you use either ledger.
Run it on the service's machine, as its user.`

const aboutExport = `Moves rows from the ledger of a service into a file, and makes the file if it is missing.
First stop the runs that use the rows. It refuses while a run lives or MAAS may be
composing, and if both ledgers have different rows of a key. Repeat an interrupted export
before you use either ledger.`

// importRows runs the command import.
func importRows(ctx context.Context, p setting.Program) error {
	return transferRows(ctx, p, aboutImport, func(ctx context.Context, file string, service *rows.Ledger, prefix string) (done rows.TransferResult, err error) {
		from, err := openExistingFile(ctx, "", file)
		if err != nil {
			return done, err
		}
		defer func() { err = errors.Join(err, from.Close()) }()
		return rows.TransferKeys(ctx, from, service, prefix)
	})
}

// exportRows runs the command export.
func exportRows(ctx context.Context, p setting.Program) error {
	return transferRows(ctx, p, aboutExport, func(ctx context.Context, file string, service *rows.Ledger, prefix string) (done rows.TransferResult, err error) {
		to, err := rows.OpenFile(ctx, file)
		if err != nil {
			return done, err
		}
		defer func() { err = errors.Join(err, to.Close()) }()
		return rows.TransferKeys(ctx, service, to, prefix)
	})
}

// transferRows reads the settings, opens the service's ledger and moves the
// rows.
func transferRows(ctx context.Context, p setting.Program, about string, move func(context.Context, string, *rows.Ledger, string) (rows.TransferResult, error)) (err error) {
	var service ledgerFile
	var owner string
	s := setting.New(p, about)
	service.addSettings(s)
	s.AddText(&owner, "owner", "", "", "owner whose rows move (default: all)")
	names, rest := splitLeadingNames(p.Args)
	if err := s.ReadArgs(rest); err != nil {
		return err
	}
	file, err := requireOneName(names, "file", p.Name+" FILE …")
	if err != nil {
		return err
	}
	l, err := service.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	done, err := move(ctx, file, l, access.OwnerPrefix(owner))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "rows moved: %d (already there: %d)\n", done.Moved, done.AlreadyThere)
	return err
}
