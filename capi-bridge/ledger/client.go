package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

const aboutAdd = `Makes a certificate and a key for a client of the ledger service, and records the
client's rights. Run it on the service's machine, as the service's user. You need
not restart the service.`

// clientToAdd holds the settings of client add.
type clientToAdd struct {
	folder, name, certificate, out string
	rights                         access.Rights
	valid                          time.Duration
}

// addClient runs the command client add.
func addClient(ctx context.Context, p setting.Program) error {
	c := clientToAdd{}
	s := setting.New(p, aboutAdd)
	addFolder(s, &c.folder)
	s.AddTexts(&c.rights.Regions, "region", "", "MAAS that the client may use: its mark, or its address or URL while it has no mark; * for all; may be given several times")
	s.AddText(&c.rights.Prefix, "prefix", "", "", "owner whose rows the client may write, such as ci; * for all")
	s.AddDuration(&c.valid, "valid", "", access.ClientValidity, "how long the certificate is valid")
	s.AddPEM(&c.certificate, "certificate", "", "certificate that the client already has, as PEM text or the path of a file")
	s.AddText(&c.out, "out", "", "", "folder for NAME.crt, NAME.key and ca.pem (default: they are printed)")
	var err error
	if c.name, p.Args, err = takeClientName(p); err != nil {
		return err
	}
	if err := s.ReadArgs(p.Args); err != nil {
		return err
	}
	if err := normalizeRegions(c.rights.Regions); err != nil {
		return err
	}
	c.rights.Prefix = access.OwnerPrefix(c.rights.Prefix)
	return c.addAndHandOut(ctx, p)
}

// openRegister opens the register of the service's clients. A cluster keeps it
// in its ledger, so that all nodes know the clients.
func openRegister(ctx context.Context, folder string) (register *access.Register, done func() error, err error) {
	if !isClusterNode(folder) {
		return access.NewRegister(folder), func() error { return nil }, nil
	}
	c, err := connectCluster(nodeConfig{folder: folder})
	if err != nil {
		return nil, nil, err
	}
	l, err := c.Open(ctx, time.Now)
	if err != nil {
		return nil, nil, err
	}
	return access.NewRegisterWith(service.NewLedgerClients(l)), l.Close, nil
}

// takeClientName takes the client's name from the arguments, where it comes
// first.
func takeClientName(p setting.Program) (name string, rest []string, err error) {
	if len(p.Args) > 0 && !strings.HasPrefix(p.Args[0], "-") {
		return p.Args[0], p.Args[1:], nil
	}
	for _, arg := range p.Args {
		if arg == "-h" || arg == "-help" || arg == "--help" {
			return "", p.Args, nil
		}
	}
	return "", nil, &setting.UsageError{Text: "the name of the client is missing", Hint: p.Name + " NAME …"}
}

// addAndHandOut makes the missing files, registers the client and hands out the
// certificate.
func (c clientToAdd) addAndHandOut(ctx context.Context, p setting.Program) (err error) {
	now := time.Now()
	register, done, err := openRegister(ctx, c.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if c.certificate != "" {
		added, err := register.Add(ctx, c.name, c.rights, []byte(c.certificate), now)
		if err != nil {
			return asRightsUsageError(err)
		}
		return printAddedClient(p, added)
	}
	if err := c.checkAuthority(); err != nil {
		return err
	}
	authority, err := access.OpenAuthority(c.folder, now)
	if err != nil {
		return err
	}
	certificate, key, err := authority.IssueClient(c.name, now, c.valid)
	if err != nil {
		return err
	}
	added, err := register.Add(ctx, c.name, c.rights, certificate, now)
	if err != nil {
		return asRightsUsageError(err)
	}
	if err := c.writeCertificates(p, map[string][]byte{".crt": certificate, ".key": key}, []byte(authority.Certificate)); err != nil {
		_, undo := register.Revoke(ctx, c.name, now)
		return errors.Join(err, undo)
	}
	return printAddedClient(p, added)
}

// checkAuthority refuses to make an authority that the service does not know. A
// service that has run has made its own, unless it was given another one.
func (c clientToAdd) checkAuthority() error {
	if _, err := os.Stat(filepath.Join(c.folder, "ledger.db")); err != nil || access.HasAuthority(c.folder) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the service in %s has no authority of its own", c.folder),
		Hint:    "Register a certificate of its --client-ca by --certificate. If ca-key.pem was lost, restore it, or restart the service without --client-ca.",
		Err:     engine.ErrNotFound,
	}
}

// writeCertificates writes or prints the certificate, the key and the
// authority's certificate.
func (c clientToAdd) writeCertificates(p setting.Program, pair map[string][]byte, authority []byte) error {
	if c.out == "" {
		_, err := fmt.Fprintf(p.Stdout, "%s%s%s", pair[".crt"], pair[".key"], authority)
		return err
	}
	if err := os.MkdirAll(c.out, 0o700); err != nil {
		return outError(err)
	}
	if err := os.WriteFile(filepath.Join(c.out, access.AuthorityFile), authority, 0o644); err != nil { //nolint:gosec // it is public
		return outError(err)
	}
	for _, suffix := range []string{".key", ".crt"} {
		path := filepath.Join(c.out, c.name+suffix)
		// Remove the file first: an existing file may be open to others.
		_ = os.Remove(path)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return outError(err)
		}
		_, err = file.Write(pair[suffix])
		if err := errors.Join(err, file.Close()); err != nil {
			return outError(err)
		}
	}
	return nil
}

func outError(err error) error {
	return &setting.UsageError{Flag: "--out", Text: err.Error(), Hint: "Name a folder in which this user may make files."}
}

// printAddedClient reports the new client on stderr, because stdout may be a
// file with the certificates.
func printAddedClient(p setting.Program, c access.Client) error {
	_, err := fmt.Fprintf(p.Stderr, "client %s may use %s, and write the rows of %s, until %s\n",
		c.Name, strings.Join(c.Regions, ", "), c.Prefix, c.Expires.Format(time.DateOnly))
	return err
}

// asRightsUsageError names the flags of invalid rights.
func asRightsUsageError(err error) error {
	refusal, ok := errors.AsType[*engine.Refusal](err)
	if !ok || !errors.Is(err, engine.ErrInvalid) {
		return err
	}
	return &setting.UsageError{Text: refusal.Message, Hint: refusal.Hint + " Flags: --region and --prefix."}
}

// listClients runs the command client list.
func listClients(ctx context.Context, p setting.Program) (err error) {
	var folder string
	s := setting.New(p, "Lists all clients, also revoked and expired ones, with their rights.")
	addFolder(s, &folder)
	if err := s.Read(); err != nil {
		return err
	}
	register, done, err := openRegister(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	all, err := register.List(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tREGIONS\tPREFIX\tEXPIRES\tSTATE")
	for _, c := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Name, strings.Join(c.Regions, ","), c.Prefix, c.Expires.Format(time.DateOnly), clientState(c, time.Now()))
	}
	return table.Flush()
}

// clientState describes whether a client may use the service.
func clientState(c access.Client, now time.Time) string {
	switch {
	case !c.Revoked.IsZero():
		return "revoked on " + c.Revoked.Format(time.DateOnly)
	case now.After(c.Expires):
		return "expired"
	}
	return "valid"
}

// revokeClient runs the command client revoke.
func revokeClient(ctx context.Context, p setting.Program) (err error) {
	var folder string
	s := setting.New(p, "Refuses a client from its next request on, also on existing connections. All nodes of a cluster know it within a second.")
	addFolder(s, &folder)
	name, rest, err := takeClientName(p)
	if err != nil {
		return err
	}
	if err := s.ReadArgs(rest); err != nil {
		return err
	}
	register, done, err := openRegister(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	c, err := register.Revoke(ctx, name, time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "client %s is revoked\n", c.Name)
	return err
}
