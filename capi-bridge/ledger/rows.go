package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

const aboutRows = `Lists the ledger's row of each key: where room is reserved, how much, since when, and
whether a run works on it. Run it as the user who owns the file.`

const aboutForget = `Drops the rows of keys whose owner never comes back, and so frees their room. It
refuses a key that a run is making, or that MAAS may still be composing. An existing
VM stays, and is found by its mark. Look in MAAS and LXD for leftovers.`

// ledgerFile names the ledger of a command.
type ledgerFile struct{ folder, path string }

// addSettings adds the flags.
func (f *ledgerFile) addSettings(s *setting.Settings) {
	addFolder(s, &f.folder)
	s.AddText(&f.path, "ledger", "LEDGER_FILE", "", "file of the ledger, such as ~/.local/state/maaslxd/ledger.db (default: the cluster of the node in the folder, or else ledger.db there)")
}

// open opens an existing ledger.
func (f *ledgerFile) open(ctx context.Context) (*rows.Ledger, error) {
	if f.path == "" && isClusterNode(f.folder) {
		c, err := connectCluster(nodeConfig{folder: f.folder})
		if err != nil {
			return nil, err
		}
		return c.Open(ctx, time.Now)
	}
	if f.path == "" {
		f.path = filepath.Join(f.folder, "ledger.db")
	}
	if strings.Contains(f.path, "://") {
		return nil, &setting.UsageError{Flag: "--ledger", Text: fmt.Sprintf("%s is an address, not a file", f.path), Hint: "Run the command on the machine of the service, with its --dir."}
	}
	return openExistingFile(ctx, "--ledger", f.path)
}

// openExistingFile opens an existing ledger file. It makes none.
func openExistingFile(ctx context.Context, flag, path string) (*rows.Ledger, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &setting.UsageError{Flag: flag, Text: fmt.Sprintf("there is no ledger %s", path), Hint: "Name its file; or, by --dir, the folder of a service that has run before."}
	}
	return rows.OpenFile(ctx, path)
}

// listRows runs the command rows.
func listRows(ctx context.Context, p setting.Program) (err error) {
	var file ledgerFile
	var owner string
	s := setting.New(p, aboutRows)
	file.addSettings(s)
	s.AddText(&owner, "owner", "", "", "owner whose rows are listed (default: all)")
	if err := s.Read(); err != nil {
		return err
	}
	l, err := file.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	all, err := rows.ListEntries(ctx, l, access.OwnerPrefix(owner))
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "REGION\tKEY\tHOST\tOWNER\tSTATE\tAGE\tNEED\tRUN")
	for _, e := range all {
		of, _, _ := strings.Cut(string(e.Row.Key), "/")
		host, state, age, need := "-", "-", "-", "-"
		if e.HasRow() {
			host, state, age, need = e.Row.HostKey, string(e.Row.State), e.Row.Age.Round(time.Second).String(), needText(e.Row.Need)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Region, e.Row.Key, host, of, state, age, need, runText(e))
	}
	return table.Flush()
}

// runText describes whether a run works on the object of a key.
func runText(e rows.Entry) string {
	switch {
	case e.Lease.Holder == "":
		return "-"
	case e.Lease.HasDeadHolder():
		return "died"
	}
	return "lives"
}

// needText describes in short the room that a VM takes.
func needText(n engine.Need) string {
	unit := "cores"
	if n.Cores == 1 {
		unit = "core"
	}
	text := fmt.Sprintf("%d %s, %d MiB", n.Cores, unit, n.MemoryMiB)
	if n.HugePagesMiB > 0 {
		text += fmt.Sprintf(", %d MiB of huge pages", n.HugePagesMiB)
	}
	for _, pool := range slices.Sorted(maps.Keys(n.DiskBytes)) {
		text += fmt.Sprintf(", %d GB of %s", n.DiskBytes[pool]/1e9, pool)
	}
	return text
}

// forgetRows runs the command forget.
func forgetRows(ctx context.Context, p setting.Program) (err error) {
	var file ledgerFile
	var region string
	s := setting.New(p, aboutForget)
	file.addSettings(s)
	s.AddText(&region, "region", "", "", "MAAS of the keys, where several have them (see ledger rows)")
	keys, rest := splitLeadingNames(p.Args)
	if err := s.ReadArgs(rest); err != nil {
		return err
	}
	if len(keys) == 0 {
		return &setting.UsageError{Text: "no key is given", Hint: p.Name + " KEY …, as ledger rows lists them"}
	}
	if region, err = normalizeRegion(region); err != nil {
		return err
	}
	l, err := file.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	all, err := rows.ListEntries(ctx, l, "")
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range keys {
		e, err := findEntry(all, key, region)
		if err == nil {
			err = rows.ForgetEntry(ctx, l, e)
		}
		if err == nil {
			_, err = fmt.Fprintf(p.Stdout, "%s is forgotten\n", key)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// splitLeadingNames splits off the arguments before the first flag.
func splitLeadingNames(args []string) (names, rest []string) {
	n := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if n < 0 {
		n = len(args)
	}
	return args[:n], args[n:]
}

// findEntry finds the ledger's entry of a key.
func findEntry(all []rows.Entry, key, region string) (rows.Entry, error) {
	var found []rows.Entry
	for _, e := range all {
		if string(e.Row.Key) == key && (region == "" || e.Region == region) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return rows.Entry{}, &setting.UsageError{Text: fmt.Sprintf("the ledger has no row of %s", key), Hint: "List them: capi-bridge ledger rows."}
	case 1:
		return found[0], nil
	}
	return rows.Entry{}, &setting.UsageError{
		Flag: "--region", Text: fmt.Sprintf("several MAASes have a row of %s: %s, %s", key, found[0].Region, found[1].Region), Hint: "Name one of them.",
	}
}
