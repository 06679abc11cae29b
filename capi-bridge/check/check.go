// Package check are the commands that try what a fleet needs, one thing at a
// time, and leave nothing behind: an RunLXD, a VM host to be, a RunMAAS, its upgrade.
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
		{Name: "lxd", Summary: "is this LXD, here or at an address, set up for VMs?", Run: RunLXD},
		{Name: "vm-host", Summary: "can MAAS register the LXD at an address? It does, and forgets it again", Run: RunVMHost},
		{Name: "maas", Summary: "is this a MAAS that can be worked with, by this key?", Run: RunMAAS},
		{Name: "upgrade", Summary: "what would MAAS drop when it drops its VM hosts, and is that noted?", Run: RunUpgrade},
	}.Run(ctx, p)
}

// findings prints what was seen as it comes, and counts what is wrong.
type findings struct {
	w       io.Writer
	title   string
	failed  int
	skipped int // what was not tried
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

// reportOK is what is as it should be.
func (f *findings) reportOK(format string, args ...any) {
	f.printLine("ok", fmt.Sprintf(format, args...), "")
}

// reportNote is what should be known, and is no obstacle.
func (f *findings) reportNote(format string, args ...any) {
	f.printLine("note", fmt.Sprintf(format, args...), "")
}

// reportSkipped is what was not tried, and why.
func (f *findings) reportSkipped(text, hint string) { f.skipped++; f.printLine("skip", text, hint) }

// reportFailure is what is wrong, and the way out.
func (f *findings) reportFailure(text, hint string) { f.failed++; f.printLine("FAIL", text, hint) }

// reportError is an error as what is wrong. It tells whether there was one.
func (f *findings) reportError(err error) bool {
	if err == nil {
		return false
	}
	for _, p := range setting.ExplainError(err) {
		f.reportFailure(replaceSettingNames(p.Message), replaceSettingNames(p.Hint))
	}
	return true
}

// finish says how it went.
func (f *findings) finish(err error) error {
	if err != nil && !errors.Is(err, setting.ErrFailed) {
		f.reportError(err)
	}
	switch {
	case f.failed > 0:
		fmt.Fprintf(f.w, "%s: failed (%d)\n", f.title, f.failed)
		return setting.ErrFailed
	case f.skipped > 0:
		fmt.Fprintf(f.w, "%s: passed as far as it went; %d not tried\n", f.title, f.skipped)
	default:
		fmt.Fprintf(f.w, "%s: passed\n", f.title)
	}
	return nil
}
