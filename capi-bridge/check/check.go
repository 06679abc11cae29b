// Package check are the commands that try what a fleet needs, one thing at a
// time, and leave nothing behind: an LXD, a VM host to be, a MAAS, its upgrade.
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
		{Name: "lxd", What: "is this LXD, here or at an address, set up for VMs?", Run: LXD},
		{Name: "vm-host", What: "can MAAS register the LXD at an address? It does, and forgets it again", Run: VMHost},
		{Name: "maas", What: "is this a MAAS that can be worked with, by this key?", Run: MAAS},
		{Name: "upgrade", What: "what would MAAS drop when it drops its VM hosts, and is that noted?", Run: Upgrade},
	}.Run(ctx, p)
}

// findings prints what was seen as it comes, and counts what is wrong.
type findings struct {
	w      io.Writer
	title  string
	failed int
	untold int // what was not tried
}

func begin(p setting.Program, about string) *findings {
	f := &findings{w: p.Stdout, title: strings.TrimPrefix(p.Name, "capi-bridge ")}
	fmt.Fprintf(f.w, "%s: %s\n", f.title, about)
	return f
}

func (f *findings) line(word, text, hint string) {
	fmt.Fprintf(f.w, "  %-4s  %s\n", word, text)
	if hint != "" {
		fmt.Fprintf(f.w, "        %s\n", hint)
	}
}

// ok is what is as it should be.
func (f *findings) ok(format string, args ...any) { f.line("ok", fmt.Sprintf(format, args...), "") }

// note is what should be known, and is no obstacle.
func (f *findings) note(format string, args ...any) { f.line("note", fmt.Sprintf(format, args...), "") }

// skip is what was not tried, and why.
func (f *findings) skip(text, hint string) { f.untold++; f.line("skip", text, hint) }

// fail is what is wrong, and the way out.
func (f *findings) fail(text, hint string) { f.failed++; f.line("FAIL", text, hint) }

// failure is an error as what is wrong. It tells whether there was one.
func (f *findings) failure(err error) bool {
	if err == nil {
		return false
	}
	for _, p := range setting.Explain(err) {
		f.fail(inFlags(p.Message), inFlags(p.Hint))
	}
	return true
}

// end says how it went.
func (f *findings) end(err error) error {
	if err != nil && !errors.Is(err, setting.ErrFailed) {
		f.failure(err)
	}
	switch {
	case f.failed > 0:
		fmt.Fprintf(f.w, "%s: failed (%d)\n", f.title, f.failed)
		return setting.ErrFailed
	case f.untold > 0:
		fmt.Fprintf(f.w, "%s: passed as far as it went; %d not tried\n", f.title, f.untold)
	default:
		fmt.Fprintf(f.w, "%s: passed\n", f.title)
	}
	return nil
}
