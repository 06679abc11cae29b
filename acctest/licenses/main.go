// Licenses prints the licences of all modules in the programs of a release, for
// the people who get the programs. Its argument is goreleaser's configuration.
// It looks at each program for each of its targets, because Windows links other
// modules than Linux.
//
//	licenses .goreleaser.yaml
//
// The licence of a package is in the nearest folder above it that has one. LXD
// shows why: its client is under another licence than its daemon, in the same
// module. A package without a licence, or with one that asks for more than a
// notice, is an error that names the package.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: licenses .goreleaser.yaml")
		os.Exit(2)
	}
	if err := run(ctx, os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, configuration string, out io.Writer) error {
	config, err := release.ReadConfig(configuration)
	if err != nil {
		return err
	}
	programs := map[release.Target][]string{}
	for _, b := range config.Builds {
		for _, target := range b.Targets {
			programs[target] = append(programs[target], b.Main)
		}
	}
	linked := map[linkedPackage]bool{}
	for target, mains := range programs {
		if err := addLinked(ctx, linked, filepath.Dir(configuration), target, mains); err != nil {
			return err
		}
	}
	texts, err := collectTexts(slices.SortedFunc(maps.Keys(linked), linkedPackage.compare))
	if err != nil {
		return err
	}
	for _, t := range texts {
		if _, err := fmt.Fprintf(out, "%s\n%s\n\n%s\n\n", strings.Repeat("=", 80), strings.Join(t.modules, "\n"), t.text); err != nil {
			return err
		}
	}
	return nil
}

// linkedPackage is a package that is linked, from a module or from Go itself.
type linkedPackage struct{ path, dir, module, root string }

func (p linkedPackage) compare(other linkedPackage) int { return strings.Compare(p.path, other.path) }

// addLinked adds the packages of the programs in the folder for the target,
// without our own.
func addLinked(ctx context.Context, linked map[linkedPackage]bool, folder string, target release.Target, programs []string) error {
	const format = `{{if .Standard}}{{.ImportPath}}|{{.Dir}}|Go {{context.GOROOT}}|{{context.GOROOT}}` +
		`{{else if not .Module.Main}}{{.ImportPath}}|{{.Dir}}|{{.Module.Path}} {{.Module.Version}}|{{.Module.Dir}}{{end}}`
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", format}, programs...)...)
	list.Dir = folder
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+target.GOOS, "GOARCH="+target.GOARCH)
	list.Stderr = os.Stderr
	printed, err := list.Output()
	if err != nil {
		return fmt.Errorf("cannot list the packages of %s for %s: %w", strings.Join(programs, " "), target, err)
	}
	for line := range strings.Lines(string(printed)) {
		part := strings.Split(strings.TrimSpace(line), "|")
		if len(part) != 4 {
			continue
		}
		p := linkedPackage{part[0], part[1], part[2], part[3]}
		if strings.HasPrefix(p.module, "Go ") {
			p.module = "Go (golang.org)"
		}
		linked[p] = true
	}
	return nil
}

// licenceText is a licence or a notice, with the modules that have it.
type licenceText struct {
	modules []string
	text    string
}

// collectTexts reads each text once, sorted by the first module that has it.
func collectTexts(linked []linkedPackage) ([]licenceText, error) {
	byText := map[string]*licenceText{}
	var wrong []error
	for _, p := range linked {
		files, err := nearestLicenceFiles(p)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			body := string(bytes.TrimSpace(data))
			if name := copyleftLicence.FindString(body); name != "" {
				wrong = append(wrong, fmt.Errorf("%s is under the %s (%s): a release may not link it", p.path, name, filepath.Base(file)))
			}
			if byText[body] == nil {
				byText[body] = &licenceText{text: body}
			}
			if t := byText[body]; !slices.Contains(t.modules, p.module) {
				t.modules = append(t.modules, p.module)
			}
		}
	}
	var all []licenceText
	for _, t := range byText {
		slices.Sort(t.modules)
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b licenceText) int {
		return strings.Compare(a.modules[0]+a.text, b.modules[0]+b.text)
	})
	return all, errors.Join(wrong...)
}

var (
	// licenceFile matches the names of licence files.
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense)([.-].*)?$`)
	// copyleftLicence matches the licences that would bind our code, too. The
	// Mozilla Public License names them as alternatives, further down.
	copyleftLicence = regexp.MustCompile(`(?i)\A\W*GNU (AFFERO |LESSER )?GENERAL PUBLIC LICENSE`)
)

// nearestLicenceFiles are the licence files of the nearest folder that has any.
func nearestLicenceFiles(p linkedPackage) ([]string, error) {
	for dir := p.dir; strings.HasPrefix(dir, p.root); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		var found []string
		for _, e := range entries {
			if !e.IsDir() && licenceFile.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go") {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s has no licence", p.path)
}
