package cli

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// backendList is the file in Terraform's module that imports the state backends.
const backendList = "internal/backend/init/init.go"

// copyWithoutMissingBackends copies Terraform's module in dir to scratch,
// without the state backends that it does not contain. Terraform keeps some
// backends in modules of their own, in folders beside the main one that go.mod
// names in a replace. The archive of a module does not contain the folders of
// other modules.
func copyWithoutMissingBackends(dir, scratch string) error {
	if err := os.CopyFS(scratch, os.DirFS(dir)); err != nil {
		return err
	}
	mod, err := readModule(filepath.Join(scratch, "go.mod"))
	if err != nil {
		return err
	}
	absent, err := dropMissingModules(mod, scratch)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), modfile.Format(mod.Syntax), 0o644); err != nil {
		return err
	}
	list := filepath.Join(scratch, backendList)
	source, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	if source, err = withoutImports(source, absent); err != nil {
		return err
	}
	return os.WriteFile(list, source, 0o644)
}

func readModule(path string) (*modfile.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, text, nil)
}

// dropMissingModules drops the modules that go.mod replaces by a folder which
// dir does not have. It returns their paths.
func dropMissingModules(mod *modfile.File, dir string) ([]string, error) {
	var absent []string
	for _, r := range mod.Replace {
		if r.New.Version != "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, r.New.Path)); err == nil {
			continue
		}
		absent = append(absent, r.Old.Path)
	}
	for _, path := range absent {
		if err := mod.DropRequire(path); err != nil {
			return nil, err
		}
		if err := mod.DropReplace(path, ""); err != nil {
			return nil, err
		}
	}
	mod.Cleanup()
	return absent, nil
}

// withoutImports drops the lines of a source file that import one of the
// packages, and those that use it.
func withoutImports(source []byte, packages []string) ([]byte, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var marks []string
	for _, path := range packages {
		for _, spec := range file.Imports {
			if got, err := strconv.Unquote(spec.Path.Value); err == nil && got == path && spec.Name != nil {
				marks = append(marks, spec.Path.Value, " "+spec.Name.Name+".")
			}
		}
	}
	if len(packages) > 0 && len(marks) == 0 {
		return nil, fmt.Errorf("%s imports none of %s: this code does not know that version", backendList, strings.Join(packages, ", "))
	}
	var kept strings.Builder
lines:
	for line := range strings.Lines(string(source)) {
		for _, mark := range marks {
			if strings.Contains(line, mark) {
				continue lines
			}
		}
		kept.WriteString(line)
	}
	return []byte(kept.String()), nil
}
