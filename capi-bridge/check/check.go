// Package check holds the commands that check what a fleet needs: an LXD, a
// future VM host, a MAAS, and its upgrade. They leave nothing behind.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// Run runs one of the checks.
func Run(ctx context.Context, p setting.Program) error {
	return setting.Commands{
		{Name: "lxd", Summary: "is an LXD, here or at an address, set up for VMs?", Run: RunLXD},
		{Name: "vm-host", Summary: "can MAAS register the LXD at an address? Registers it, and removes it again", Run: RunVMHost},
		{Name: "maas", Summary: "can maaslxd work with this MAAS and this key?", Run: RunMAAS},
		{Name: "upgrade", Summary: "what would MAAS drop with its VM hosts, and is it recorded elsewhere?", Run: RunUpgrade},
	}.Run(ctx, p)
}

// findings prints each finding at once, and counts the problems.
type findings struct {
	w       io.Writer
	title   string
	failed  int
	skipped int // checks that were skipped

	hasFingerprintFlag bool // the check has the flag --server-fingerprint
}

func startFindings(p setting.Program, about string) *findings {
	f := &findings{w: p.Stdout, title: strings.TrimPrefix(p.Name, "capi-bridge ")}
	fmt.Fprintf(f.w, "%s: %s\n", f.title, about)
	return f
}

func (f *findings) printLine(word, text, hint string) {
	fmt.Fprintf(f.w, "  %-4s  %s\n", word, text)
	if hint != "" {
		fmt.Fprintf(f.w, "        %s\n", hint)
	}
}

// reportOK reports something that is right.
func (f *findings) reportOK(format string, args ...any) {
	f.printLine("ok", fmt.Sprintf(format, args...), "")
}

// reportNote reports something to know that is not a problem.
func (f *findings) reportNote(format string, args ...any) {
	f.printLine("note", fmt.Sprintf(format, args...), "")
}

// reportSkipped reports a check that was skipped, and why.
func (f *findings) reportSkipped(text, hint string) { f.skipped++; f.printLine("skip", text, hint) }

// reportFailure reports a problem and a way out.
func (f *findings) reportFailure(text, hint string) { f.failed++; f.printLine("FAIL", text, hint) }

// reportError reports an error as a problem. It returns whether there was one.
func (f *findings) reportError(err error) bool {
	if err == nil {
		return false
	}
	for _, p := range setting.ExplainError(err) {
		hint := replaceSettingNames(p.Hint)
		if f.hasFingerprintFlag {
			hint = strings.ReplaceAll(hint, "server_fingerprint =", "--server-fingerprint")
		}
		f.reportFailure(replaceSettingNames(p.Message), hint)
	}
	return true
}

// finish prints the summary.
func (f *findings) finish(err error) error {
	if err != nil && !errors.Is(err, setting.ErrFailed) {
		f.reportError(err)
	}
	switch {
	case f.failed > 0:
		fmt.Fprintf(f.w, "%s: failed (%d)\n", f.title, f.failed)
		return setting.ErrFailed
	case f.skipped > 0:
		fmt.Fprintf(f.w, "%s: passed, with %d skipped\n", f.title, f.skipped)
	default:
		fmt.Fprintf(f.w, "%s: passed\n", f.title)
	}
	return nil
}
